// How fast a large report opens: a thousand trials of a minute each. Prints, and judges nothing.

import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.ts";
import { LARGE, sample } from "./sample.ts";
import { fileOf } from "./shell.ts";

const report = sample(LARGE);
const url = await fileOf(report);
const size = (await stat(fileURLToPath(url))).size;
console.log(`${report.trials.length} trials of ${LARGE.seconds} s, ${(size / 1e6).toFixed(1)} MB`);
const browser = await launch();
for (let round = 1; round <= 5; round += 1) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(url);
  const times = await page.evaluate(async () => {
    // Two frames after the load the first charts are drawn, and the page answers.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const interactive = performance.now();
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const shown = performance.getEntriesByName("report-shown")[0]?.startTime;
    return { paint, shown, interactive };
  });
  const text = Object.entries(times).map(([name, at]) => `${name} ${at?.toFixed(0)} ms`);
  const began = performance.now();
  await page.evaluate(async () => {
    const height = document.documentElement.scrollHeight;
    for (let y = 0; y < height; y += 2000) {
      window.scrollTo(0, y);
      await new Promise(requestAnimationFrame);
    }
  });
  text.push(`scrolled through ${(performance.now() - began).toFixed(0)} ms`);
  console.log(`round ${round}: ${text.join(", ")}`);
  await page.close();
}
await browser.close();
