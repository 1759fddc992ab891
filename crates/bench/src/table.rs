//! Medians, ratios, and the lines they are printed in.

/// The median; the mean of the middle two for an even number.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// A promise: what the figure must reach.
#[derive(Clone, Copy)]
pub enum Promise {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

impl Promise {
    /// How a figure stands to the promise, in words.
    pub fn verdict(self, figure: f64) -> String {
        let (kept, words) = match self {
            Promise::AtLeast(least) => (figure >= least, format!("at least {least}")),
            Promise::AtMost(most) => (figure <= most, format!("at most {most}")),
        };
        format!("{words}: {}", if kept { "kept" } else { "MISSED" })
    }
}

/// Prints a heading.
pub fn heading(text: &str) {
    println!("\n{text}\n{}", "─".repeat(text.chars().count()));
}

/// Prints one ratio, ours to the peer's, taken turn by turn: the median and its range.
pub fn ratio(name: &str, ours: &[f64], peers: &[f64], promise: Promise) {
    let ratios: Vec<f64> = ours.iter().zip(peers).map(|(ours, peer)| ours / peer).collect();
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(0.0, f64::max);
    let figure = median(&ratios);
    println!(
        "{name:<44} ours {:>10.0}  peer {:>10.0}  ratio {figure:.2} ({low:.2}–{high:.2})  {}",
        median(ours),
        median(peers),
        promise.verdict(figure)
    );
}

/// Prints one figure of ours that has no peer.
pub fn figure(name: &str, values: &[f64], unit: &str, promise: Promise) {
    let figure = median(values);
    println!("{name:<44} {figure:>10.2} {unit}  {}", promise.verdict(figure));
}
