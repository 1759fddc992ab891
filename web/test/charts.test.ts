import assert from "node:assert/strict";
import { test } from "node:test";
import type { Drawing, Spot } from "../src/chart.ts";
import { slug } from "../src/download.ts";
import { secondsOf } from "../src/figures/courses.ts";
import { spread } from "../src/lines.ts";
import { NEUTRAL } from "../src/palette.ts";
import { clip } from "../src/plotting.ts";
import { nearest, step } from "../src/probe.ts";
import { capital, counted, kindName, listed, moment } from "../src/text.ts";

test("labels keep their distance and stay inside", () => {
  assert.deepEqual(spread([10, 50, 90], 12, 0, 100), [10, 50, 90]);
  assert.deepEqual(spread([50, 50, 50], 12, 0, 100), [50, 62, 74]);
  assert.deepEqual(spread([98, 99], 12, 0, 100), [88, 100]);
  assert.deepEqual(spread([60, 20, 21], 10, 0, 100), [60, 20, 30]);
});

function spot(x: number, y: number, name: string, place: string): Spot {
  return { x, y, system: null, name, look: NEUTRAL, place, value: () => "" };
}

const lines: Drawing = {
  svg: {} as SVGSVGElement,
  crosshair: [0, 100],
  spots: [
    spot(10, 80, "a", "clients: 1"),
    spot(50, 40, "a", "clients: 2"),
    spot(10, 90, "b", "clients: 1"),
    spot(50, 95, "b", "clients: 2"),
  ],
};

test("left and right go along a line, up and down from line to line", () => {
  const [a1, a2, b1, b2] = lines.spots;
  assert.equal(step(lines, undefined, "ArrowRight"), a1);
  assert.equal(step(lines, a1, "ArrowRight"), a2);
  assert.equal(step(lines, a2, "ArrowRight"), undefined);
  assert.equal(step(lines, a2, "ArrowLeft"), a1);
  assert.equal(step(lines, a1, "ArrowDown"), b1);
  assert.equal(step(lines, b2, "ArrowUp"), a2);
  assert.equal(step(lines, a1, "End"), b2);
  assert.equal(step(lines, a1, "Tab"), undefined);
});

test("in tracks, left and right stay in their track", () => {
  const tracks: Drawing = {
    ...lines,
    spots: [
      spot(10, 10, "a", "throughput at 0 s"),
      spot(50, 10, "a", "throughput at 1 s"),
      spot(10, 60, "a", "CPU at 0 s"),
    ],
  };
  assert.equal(step(tracks, tracks.spots[0], "ArrowRight"), tracks.spots[1]);
  assert.equal(step(tracks, tracks.spots[1], "ArrowRight"), undefined);
  assert.equal(step(tracks, tracks.spots[0], "ArrowDown"), tracks.spots[2]);
});

test("the pointer means the figure next to it, and none if it is far from all", () => {
  assert.equal(nearest(lines, 48, 42), lines.spots[1]);
  assert.equal(nearest(lines, 400, 42), undefined);
  const rows: Drawing = { svg: lines.svg, spots: [spot(200, 10, "a", ""), spot(20, 40, "b", "")] };
  assert.equal(nearest(rows, 5, 12), rows.spots[0], "anywhere along a bar is that bar");
  assert.equal(nearest(rows, 150, 41), rows.spots[1], "and right of its end too");
});

test("a second of a series lasts until the next, the last until the measurement's end", () => {
  const phases = { start: 0, load: 0, settle: 0, warm_up: 0, cool_down: 0, check: 0 };
  const of = (t_s: number[], measure: number) =>
    secondsOf({ series: { t_s } as never, phases: { ...phases, measure } });
  assert.deepEqual(of([0, 1, 2], 2.5), [1, 1, 0.5]);
  assert.deepEqual(of([0, 1], 2.002), [1, 1]);
  assert.deepEqual(of([0], 0.25), [0.25]);
});

test("texts from values", () => {
  assert.equal(clip("postgres:jsonb", 8), "postgre…");
  assert.equal(clip("redis", 8), "redis");
  assert.equal(slug("Latency: ycsb/a · read"), "latency-ycsb-a-read");
  assert.equal(slug("…"), "chart");
  assert.equal(listed(["a", "b", "c"]), "a, b and c");
  assert.equal(listed([]), "");
  assert.equal(counted(1, "trial"), "1 trial");
  assert.equal(counted(1200, "trial"), "1,200 trials");
  assert.equal(capital("none"), "None");
  assert.equal(kindName("read_modify_write"), "read-modify-write");
  assert.equal(moment("2026-11-22T02:26:03.513957516Z"), "2026-11-22 02:26 UTC");
  assert.equal(moment("soon"), "soon");
});
