//! How overwrites grow with the number of indexes, all of whose keys change.

use std::{hint::black_box, ops::ControlFlow, time::Instant};

use anyhow::ensure;
use slik::{IndexId, Query};

use super::{
    Setting,
    growth::Growth,
    objects::{self, Key, Value, primary, secondary, value},
    peers::Ours,
    turns::{self, Piece},
};
use crate::table::{Promise, heading, median};

const OBJECTS: u32 = 1000;
const MOST_INDEXES: u16 = 10;
/// Most that an index may cost of the second half of them, to the average: more would be growth
/// above a line (a square has 1.5, n log n 1.25).
const MOST: f64 = 1.15;

/// Prints the figures.
pub fn run(setting: &Setting) -> anyhow::Result<()> {
    heading(&format!("Overwrite by number of indexes, {OBJECTS} objects, every key changes"));
    let sequence = objects::shuffled(OBJECTS);
    let mut tables = (0..=MOST_INDEXES).map(Indexed::load).collect::<Result<Vec<_>, _>>()?;
    // Neighbours are told apart by a few per cent of their cost, so there are more rounds.
    let rounds = 3 * setting.rounds;
    let costs = turns::take(rounds, tables.len(), |table, piece| {
        tables[table].overwrite(&sequence, piece)
    })?;
    let medians: Vec<f64> = costs.iter().map(|costs| median(costs)).collect();
    let shown: Vec<String> =
        medians.iter().enumerate().map(|(indexes, ns)| format!("{indexes}: {ns:.0}")).collect();
    println!("ns: {}", shown.join(", "));
    let growth = Growth::of(&medians);
    println!(
        "an index costs {:.0} ns on average, the last {:.0}; by least squares {:.0}, R² {:.4}",
        growth.mean_step, growth.last_step, growth.slope, growth.r_squared
    );
    let late = growth.late_slope / growth.slope;
    println!(
        "{:<44} {late:<22.2} {}",
        "an index of the second half to the average",
        Promise::AtMost(MOST).verdict(late)
    );
    Ok(())
}

/// A table with some indexes.
struct Indexed {
    store: Ours,
    indexes: u16,
    /// How often each object was written.
    generations: Vec<u32>,
}

/// An overwrite with all its keys.
struct Order {
    primary: Key,
    keys: Vec<(IndexId, Key)>,
    value: Value,
}

impl Indexed {
    fn load(indexes: u16) -> anyhow::Result<Indexed> {
        let ids: Vec<IndexId> = (1..=indexes).collect();
        let store = Ours::new(&ids)?;
        let generations = vec![0; OBJECTS as usize];
        let mut table = Indexed { store, indexes, generations };
        let orders: Vec<Order> = (0..OBJECTS).map(|number| table.order(number)).collect();
        table.run(&orders)?;
        Ok(table)
    }

    fn overwrite(&mut self, sequence: &[u32], piece: Piece) -> anyhow::Result<f64> {
        let orders: Vec<Order> = piece.of(sequence).map(|number| self.order(number)).collect();
        let (warm, timed) = orders.split_at(piece.warm_up);
        self.run(warm)?;
        let began = Instant::now();
        self.run(black_box(timed))?;
        let spent = began.elapsed();
        for number in sequence {
            self.check(*number)?;
        }
        Ok(spent.as_secs_f64() * 1e9 / timed.len() as f64)
    }

    fn run(&mut self, orders: &[Order]) -> anyhow::Result<()> {
        let mut keys = Vec::with_capacity(usize::from(self.indexes));
        for order in orders {
            keys.clear();
            keys.extend(order.keys.iter().map(|(index, key)| (*index, key.as_slice())));
            self.store.table().write(&order.primary, &keys, &order.value)?;
        }
        Ok(())
    }

    fn order(&mut self, number: u32) -> Order {
        let generation = &mut self.generations[number as usize];
        *generation += 1;
        let key = |index| (index, secondary(index, number, *generation));
        Order {
            primary: primary(number),
            keys: (1..=self.indexes).map(key).collect(),
            value: value(number, *generation),
        }
    }

    /// Every index has the object under its key, and nothing else.
    fn check(&self, number: u32) -> anyhow::Result<()> {
        let generation = self.generations[number as usize];
        for index in 1..=self.indexes {
            let mut as_written = false;
            let found = self.store.table().lookup_with(
                index,
                &Query::key(&secondary(index, number, generation)),
                |found| {
                    as_written = found.object.primary() == primary(number)
                        && found.object.value() == value(number, generation);
                    ControlFlow::Continue(())
                },
            )?;
            ensure!(found == 1 && as_written, "index {index} has lost object {number}");
        }
        let stats = self.store.table().stats();
        let entries = stats.indexes.iter().all(|index| index.entries == OBJECTS as usize);
        ensure!(entries, "an index has entries of old keys: {:?}", stats.indexes);
        Ok(())
    }
}
