// Screenshots at three widths, light and dark: `npm run shots -- FOLDER [REPORT.json]`, of the sample
// without data.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Report } from "../src/document.ts";
import { launch } from "./browser.ts";
import { SMALL, sample } from "./sample.ts";
import { fileOf } from "./shell.ts";

const folder = process.argv[2] ?? "shots";
const data = process.argv[3];
const report = data ? (JSON.parse(await readFile(data, "utf8")) as Report) : sample(SMALL);
const url = await fileOf(report);
await mkdir(folder, { recursive: true });
const browser = await launch();
for (const colorScheme of ["light", "dark"] as const) {
  for (const [width, height] of [
    [360, 780],
    [1280, 900],
    [2560, 1440],
  ] as const) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme });
    page.on("console", (message) => console.log(message.text()));
    await page.goto(url);
    const name = `${width}-${colorScheme}`;
    await page.screenshot({ path: join(folder, `first-${name}.png`) });
    const whole = await page.evaluate(() => document.documentElement.scrollHeight);
    for (let y = 0; y < whole; y += height) {
      await page.evaluate((top) => window.scrollTo(0, top), y);
      await page.waitForTimeout(60);
    }
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.screenshot({ path: join(folder, `whole-${name}.png`), fullPage: true });
    for (const section of await page.locator("section[id]").all()) {
      const id = await section.getAttribute("id");
      const box = await section.boundingBox();
      if (!box) continue;
      const clip = {
        x: 0,
        y: box.y,
        width,
        height: Math.min(box.height, width < 700 ? 1100 : 1300),
      };
      await page.screenshot({ path: join(folder, `${id}-${name}.png`), fullPage: true, clip });
    }
    await page.close();
  }
}
await browser.close();
