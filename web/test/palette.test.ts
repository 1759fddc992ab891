import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { COLORS, look } from "../src/palette.ts";

type Rgb = readonly [number, number, number];

function linear(hex: string): Rgb {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function luminance([r, g, b]: Rgb): number {
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [x, y] = [luminance(linear(a)), luminance(linear(b))];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** Simulations by Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB. */
const BLINDNESS: Record<string, readonly Rgb[]> = {
  none: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** OKLab, in which equal distances look about equally different. */
function oklab([r, g, b]: Rgb): Rgb {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function seen(hex: string, matrix: readonly Rgb[]): Rgb {
  const [r, g, b] = linear(hex);
  const mixed = matrix.map(([x, y, z]) => Math.min(1, Math.max(0, x * r + y * g + z * b)));
  return oklab(mixed as unknown as Rgb);
}

function distance(a: Rgb, b: Rgb): number {
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function page(theme: "light" | "dark"): string {
  const css = readFileSync("src/styles/page.css", "utf8");
  const [, light, dark] = /--page: light-dark\((#\w{6}), (#\w{6})\)/.exec(css) ?? [];
  return (theme === "light" ? light : dark) ?? "";
}

for (const theme of ["light", "dark"] as const) {
  test(`each color stands out from the ${theme} page by 3 to 1`, () => {
    for (const color of COLORS)
      assert.ok(contrast(color[theme], page(theme)) >= 3, `${color[theme]}`);
  });

  test(`six systems are told apart with each kind of color blindness, ${theme}`, () => {
    for (const [kind, matrix] of Object.entries(BLINDNESS)) {
      const colors = COLORS.slice(0, 6).map((color) => seen(color[theme], matrix));
      colors.forEach((a, i) => {
        for (const [j, b] of colors.entries())
          if (j > i) {
            const apart = distance(a, b);
            assert.ok(apart > 0.09, `${kind}: ${i} and ${j} are ${apart.toFixed(3)} apart`);
          }
      });
    }
  });
}

test("color is never the only difference between two systems", () => {
  const looks = Array.from({ length: 24 }, (_, index) => look(index));
  looks.forEach((a, i) => {
    for (const [j, b] of looks.entries())
      if (j > i) {
        assert.notDeepEqual(a, b);
        if (a.color === b.color) assert.ok(a.symbol !== b.symbol && a.dash !== b.dash);
      }
  });
});
