import assert from "node:assert/strict";
import { test } from "node:test";
import { farApart, linearTicks, logDomain, logTicks, withEnds, zeroDomain } from "../src/scale.ts";

test("log ticks thin out as the decades grow", () => {
  assert.deepEqual(logTicks(1, 10, 9), [1, 2, 3, 5, 7, 10]);
  assert.deepEqual(logTicks(1, 100, 7), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual(logTicks(1, 1000, 5), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks(1, 1e8, 5), [1, 100, 1e4, 1e6, 1e8]);
});

test("a log axis keeps away from zero and has room for a single value", () => {
  assert.deepEqual(logDomain([0, -3, 40]), [20, 80]);
  assert.deepEqual(logDomain([]), [1, 10]);
  const [low, high] = logDomain([10, 1000]);
  assert.ok(low < 10 && low > 5 && high > 1000 && high < 2000);
});

test("a linear axis begins at zero and has round ticks", () => {
  assert.equal(zeroDomain([5, 10])[0], 0);
  assert.ok(zeroDomain([5, 10])[1] > 10);
  assert.deepEqual(zeroDomain([]), [0, 1]);
  assert.deepEqual(linearTicks(100, 4), [0, 25, 50, 75, 100]);
  assert.deepEqual(linearTicks(7, 4), [0, 2, 4, 6]);
  assert.deepEqual(linearTicks(0, 4), [0]);
});

test("ticks of bytes are round in powers of two", () => {
  const mebi = 1024 ** 2;
  assert.deepEqual(
    linearTicks(200 * mebi, 4, true),
    [0, 64, 128, 192].map((n) => n * mebi),
  );
  assert.deepEqual(linearTicks(3000, 3, true), [0, 1024, 2048]);
});

test("values are far apart from 25 times on", () => {
  assert.ok(farApart([1, 26, 0]));
  assert.ok(!farApart([1, 25]));
  assert.ok(!farApart([]));
});

test("an interval over many decades does not stretch the axis", () => {
  assert.deepEqual(withEnds([10, 100], [9, 110, null], "log"), [10, 100, 9, 110]);
  assert.deepEqual(withEnds([10, 100], [1e-6, 1e15], "log"), [10, 100, 2.5, 400]);
  assert.deepEqual(withEnds([10, 100], [-50, 1e9], "linear"), [10, 100, 0, 150]);
});
