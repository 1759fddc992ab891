import assert from "node:assert/strict";
import { test } from "node:test";
import * as units from "../src/units.ts";

/** With plain spaces, so that expectations can be read. */
function spaced(text: string): string {
  return text.replaceAll(units.THIN_SPACE, " ");
}

test("rates have three digits and a prefix", () => {
  const expected: [number, string][] = [
    [0, "0 ops/s"],
    [0.25, "0.250 ops/s"],
    [812, "812 ops/s"],
    [12.345, "12.3 ops/s"],
    [999.4, "999 ops/s"],
    [999.7, "1.00k ops/s"],
    [12_345, "12.3k ops/s"],
    [999_600, "1.00M ops/s"],
    [8_123_456, "8.12M ops/s"],
    [3.2e12, "3.20T ops/s"],
  ];
  for (const [value, text] of expected) assert.equal(spaced(units.rate(value)), text);
});

test("times go from nanoseconds to seconds", () => {
  const expected: [number, string][] = [
    [0, "0 ns"],
    [61, "61 ns"],
    [61.4, "61.4 ns"],
    [999, "999 ns"],
    [999.9, "1.00 µs"],
    [1_234, "1.23 µs"],
    [41_500_000, "41.5 ms"],
    [2_350_000_000, "2.35 s"],
    [9_999_000_000_000, "9999 s"],
    [1.2e20, "1.2e11 s"],
  ];
  for (const [value, text] of expected) assert.equal(spaced(units.time(value)), text);
});

test("bytes go up in steps of 1024", () => {
  assert.equal(spaced(units.bytes(812)), "812 B");
  assert.equal(spaced(units.bytes(1_023)), "1023 B");
  assert.equal(spaced(units.bytes(1_240)), "1.21 KiB");
  assert.equal(spaced(units.bytes(1024 ** 3)), "1.00 GiB");
  assert.equal(spaced(units.byteRate(3 * 1024 ** 2)), "3.00 MiB/s");
});

test("shares, seconds and plain numbers read as people write them", () => {
  assert.equal(units.share(0.0123), "1.2%");
  assert.equal(units.share(0.123), "12%");
  assert.equal(units.share(2.5), "250%");
  assert.equal(units.share(0.00001), "<0.1%", "a few are not none");
  assert.equal(units.share(0), "0.0%");
  assert.equal(spaced(units.seconds(60)), "60 s");
  assert.equal(spaced(units.seconds(0.25)), "0.25 s");
  assert.equal(units.plain(2.1278), "2.13");
  assert.equal(units.plain(0.94849), "0.948");
  assert.equal(units.plain(12_345), "12,345");
  assert.equal(units.plain(1_024.35), "1,024");
  assert.equal(units.whole(1_000_000.4), "1,000,000");
});

test("what is absent or no number is a dash", () => {
  for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(units.format("rate", value), units.NOTHING);
});

test("an interval has its unit once where both ends share it", () => {
  assert.equal(
    spaced(units.withInterval("rate", 101_000, 100_000, 102_000)),
    "101k ops/s (100k–102k)",
  );
  assert.equal(spaced(units.withInterval("time", 10_000, 9_910, 10_200)), "10.0 µs (9.91–10.2 µs)");
  assert.equal(spaced(units.withInterval("time", 1_000, 900, 1_100)), "1.00 µs (900 ns–1.10 µs)");
  assert.equal(spaced(units.withInterval("bytes", 2048, null, 4096)), "2.00 KiB");
});

test("ticks have no digits that say nothing", () => {
  assert.equal(units.tick("rate", 100_000), "100k");
  assert.equal(units.tick("rate", 1_500_000), "1.5M");
  assert.equal(spaced(units.tick("time", 10_000)), "10 µs");
  assert.equal(spaced(units.tick("time", 2_500)), "2.5 µs");
  assert.equal(spaced(units.tick("bytes", 32 * 1024 ** 2)), "32 MiB");
  assert.equal(units.tick("share", 1), "100%");
  assert.equal(units.tick("plain", 0.5), "0.5");
  assert.equal(units.tick("plain", 1_000), "1,000");
});
