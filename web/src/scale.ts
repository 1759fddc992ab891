// Where axes begin, end and have ticks.

/** Ticks of a log axis: powers of ten; 1, 2 and 5 of each where there are few. */
export function logTicks(low: number, high: number, room: number): number[] {
  const first = Math.floor(Math.log10(low) + 1e-9);
  const last = Math.ceil(Math.log10(high) - 1e-9);
  const within = (value: number) => value >= low * 0.9999 && value <= high * 1.0001;
  const of = (factors: readonly number[]) => {
    const ticks: number[] = [];
    for (let power = first; power <= last; power += 1)
      for (const factor of factors) ticks.push(factor * 10 ** power);
    return ticks.filter(within);
  };
  for (const factors of [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
    const ticks = of(factors);
    if (ticks.length <= room) return ticks;
  }
  const powers = of([1]);
  const step = Math.ceil(powers.length / Math.max(1, room));
  return powers.filter((_, index) => index % step === 0);
}

/** A log axis around values that are above zero; a decade around a single one. */
export function logDomain(values: Iterable<number>): [number, number] {
  const [low, high] = extent(values, (value) => value > 0);
  if (low === undefined || high === undefined) return [1, 10];
  return low * 3 > high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
}

/** A linear axis from zero to a little above the highest value. */
export function zeroDomain(values: Iterable<number>): [number, number] {
  const [, high] = extent(values, () => true);
  return [0, high !== undefined && high > 0 ? high * 1.06 : 1];
}

/** Values with the ends of their intervals, as far as these do not make the axis useless: few repeats
 * can have intervals over many decades. */
export function withEnds(
  values: readonly number[],
  ends: readonly (number | null | undefined)[],
  kind: "linear" | "log",
): number[] {
  const [low, high] = extent(values, (value) => kind === "linear" || value > 0);
  if (low === undefined || high === undefined) return [...values];
  const [least, most] = kind === "log" ? [low / 4, high * 4] : [0, high * 1.5];
  const within = ends
    .filter((end): end is number => typeof end === "number" && Number.isFinite(end))
    .map((end) => Math.min(Math.max(end, least), most));
  return [...values, ...within];
}

/** Whether values lie so far apart that a linear axis would hide most of them. */
export function farApart(values: Iterable<number>): boolean {
  const [low, high] = extent(values, (value) => value > 0);
  return low !== undefined && high !== undefined && high > 25 * low;
}

/** Ticks at round values from zero; for bytes, round in powers of two. */
export function linearTicks(high: number, room: number, binary = false): number[] {
  if (!(high > 0)) return [0];
  const rough = high / Math.max(1, room);
  let step: number;
  if (binary) {
    const unit = 1024 ** Math.max(0, Math.floor(Math.log2(rough) / 10));
    step = roundStep(rough / unit, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]) * unit;
  } else {
    const power = 10 ** Math.floor(Math.log10(rough));
    step = roundStep(rough / power, [1, 2, 2.5, 5, 10]) * power;
  }
  const ticks: number[] = [];
  for (let index = 0; index * step <= high * 1.0001; index += 1) ticks.push(index * step);
  return ticks;
}

function roundStep(rough: number, steps: readonly number[]): number {
  return steps.find((step) => step >= rough * 0.9999) ?? (steps.at(-1) as number);
}

function extent(
  values: Iterable<number>,
  counts: (value: number) => boolean,
): [number | undefined, number | undefined] {
  let low: number | undefined;
  let high: number | undefined;
  for (const value of values) {
    if (!Number.isFinite(value) || !counts(value)) continue;
    if (low === undefined || value < low) low = value;
    if (high === undefined || value > high) high = value;
  }
  return [low, high];
}
