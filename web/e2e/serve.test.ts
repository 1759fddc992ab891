// `assay serve` in a real browser: the list, a run's report, and both while a run goes on.

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { assay, ended, firstLine, started, TINY } from "./assay.ts";
import { launch } from "./browser.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const SCRIPT = "<script>alert(1)</script>";

let folder: string;
let server: ChildProcess;
let url: string;
let browser: Browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "assay-serve-"));
  const systems = `memory@${SCRIPT},null`;
  const extent = ["--operations", "500", "--repeats", "2"];
  await assay("run", "ycsb/c", "-s", systems, ...TINY, ...extent, "--results", folder);
  server = started("serve", "--results", folder);
  url = await firstLine(server);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await ended(server, "SIGTERM");
  await rm(folder, { recursive: true, force: true });
});

/** Runs with the list open; fails on any error in a page, and on requests to anybody else. */
async function opened(
  options: BrowserContextOptions,
  run: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("dialog", (dialog) => {
    troubles.push(dialog.message());
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) troubles.push(request.url());
  });
  try {
    await page.goto(url);
    await run(page);
    assert.deepEqual(troubles, []);
  } finally {
    await context.close();
  }
}

/** What axe finds wrong with the page. */
async function violations(page: Page): Promise<string[]> {
  // Evaluated, not added: the page's policy lets no other script in.
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const found = (await axe.run()).violations;
    return found.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(", ")}`);
  });
}

describe("assay serve", () => {
  for (const colorScheme of ["light", "dark"] as const)
    test(`the list leads to a run's report, ${colorScheme}`, () =>
      opened({ colorScheme, viewport: { width: 360, height: 780 } }, async (page) => {
        assert.equal(await page.locator("#runs li").count(), 1);
        assert.match(await page.locator("#runs li").innerText(), /finished · 4 trials/);
        assert.ok((await page.locator("#runs").innerText()).includes(SCRIPT), "a name, no more");
        assert.deepEqual(await violations(page), []);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
        await page.locator("#runs a").first().press("Enter");
        await page.locator("#throughput").evaluate((figure) => figure.scrollIntoView());
        await page.locator("#throughput .chart > svg").first().waitFor();
        const name = page.locator("#throughput .legend button").first();
        assert.equal((await name.innerText()).trim(), SCRIPT);
        assert.equal(await page.locator("script[data-run]").count(), 0, "it is over");
        assert.deepEqual(await violations(page), []);
      }));

  test("a run shows as it goes, in the list and on its page, and that it was killed", () =>
    opened({}, async (page) => {
      await page.locator("#live", { hasText: "Live" }).waitFor();
      const extent = ["--duration", "300ms", "--repeats", "200"];
      const run = started("run", "ycsb/a", "-s", "memory", ...TINY, ...extent, "--results", folder);
      try {
        const item = page.locator("#runs li").first();
        await item.locator("progress").waitFor();
        await page.waitForFunction(
          () => (document.querySelector<HTMLProgressElement>("#runs progress")?.value ?? 0) >= 2,
        );
        assert.match(await item.innerText(), /running · \d+ of 200 trials/);
        const list = await page.context().newPage();
        await list.goto(url);

        await item.locator("a").click();
        await page.locator("#throughput .chart > svg").first().waitFor();
        const done = async () =>
          Number(await page.locator("script[data-run]").getAttribute("data-done"));
        const before = await done();
        await page.waitForFunction((before) => {
          const script = document.querySelector<HTMLElement>("script[data-run]");
          return Number(script?.dataset.done ?? 0) > before;
        }, before);
        assert.ok((await done()) > before, "it takes itself anew");

        await ended(run, "SIGKILL");
        await list.locator("#runs li .status.interrupted").waitFor();
        assert.equal(await list.locator("#runs progress").count(), 0);
        await page.locator("text=was stopped before every trial had run").first().waitFor();
        assert.equal(await page.locator("script[data-run]").count(), 0, "nothing more will come");
      } finally {
        await ended(run, "SIGKILL");
      }
    }));
});
