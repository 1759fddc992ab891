// The page in a real browser: what it shows, what it does, and that it does no harm.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions, Download, Locator, Page } from "playwright-core";
import type { Report } from "../src/document.ts";
import * as units from "../src/units.ts";
import { launch } from "./browser.ts";
import { HOSTILE, SMALL, sample } from "./sample.ts";
import { fileOf } from "./shell.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const report: Report = sample(SMALL);
let browser: Browser;
let url: string;

before(async () => {
  url = await fileOf(report);
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

/** Runs with the report open; fails on any console error, page error or request but the file's. */
async function opened(
  options: BrowserContextOptions,
  run: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("blob:")) troubles.push(request.url());
  });
  try {
    await page.goto(url);
    await run(page);
    assert.deepEqual(troubles, []);
  } finally {
    await context.close();
  }
}

/** The button that opens a trial, once the trials are there. */
async function trialButton(page: Page, place: number): Promise<Locator> {
  await page.locator("#trials").evaluate((section) => section.scrollIntoView());
  return page.locator("#trials button.open").nth(place);
}

/** Scrolls through the charts there until all are drawn. */
async function drawAll(page: Page, within = "body"): Promise<void> {
  const waiting = page.locator(`${within} .chart:empty`);
  while ((await waiting.count()) > 0) {
    const first = await waiting.first().elementHandle();
    await first?.evaluate((chart) => chart.scrollIntoView({ block: "start" }));
    await page.waitForFunction((chart) => !chart?.matches(".chart:empty"), first);
  }
}

/** A figure's table, opened, as texts. */
async function tableOf(page: Page, figure: string): Promise<string[][]> {
  await page.locator(`#${figure} details.table > summary`).click();
  await page.locator(`#${figure} details.table table`).waitFor();
  return page
    .locator(`#${figure} details.table tr`)
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("th,td")].map((cell) => cell.textContent ?? "")),
    );
}

/** The labels of a figure's marks. */
async function marksOf(page: Page, figure: string): Promise<string[]> {
  await drawAll(page, `#${figure}`);
  return page
    .locator(`#${figure} .chart svg [data-figure]`)
    .evaluateAll((marks) => marks.map((mark) => mark.getAttribute("data-figure") ?? ""));
}

/** The system with that name in a group. */
function cell(group: number, system: number) {
  const found = report.groups[group]?.cells.find((cell) => cell.system === system);
  assert.ok(found);
  return found;
}

describe("the first screen", () => {
  test("it has the question, every answer, the machine, the durability and every caveat", () =>
    opened({}, async (page) => {
      assert.equal(await page.locator("h1").textContent(), report.question);
      const answers = await page.locator(".answers li p").allTextContents();
      assert.deepEqual(
        answers,
        report.headlines.map((headline) => `${headline.sentence}.`),
      );
      await page.locator("section:has(#answers) summary").click();
      const each = page.locator("section:has(#answers) details li p");
      await each.first().waitFor();
      assert.deepEqual(
        await each.allTextContents(),
        report.answers.map((answer) => `${answer.sentence}.`),
      );
      const facts = (await page.locator(".facts").first().textContent()) ?? "";
      assert.match(facts, /AMD EPYC 9R14, 2 cores, 23\.5\u202fGiB/);
      assert.match(facts, /postgres:jsonb: fsync=off/);
      const caveats = await page.locator(".caveats li").allTextContents();
      assert.equal(caveats.length, report.caveats.length);
      report.caveats.forEach((caveat, index) => {
        assert.ok(caveats[index]?.includes(caveat.text), caveats[index]);
      });
      assert.equal(await page.locator("#fallback").count(), 0, "the fallback is replaced");
    }));
});

describe("the charts", () => {
  test("throughput: bars and table have the groups' figures", () =>
    opened({}, async (page) => {
      const { median, low, high } = cell(0, 3).throughput_ops_per_s;
      const marks = await marksOf(page, "throughput");
      const text = units.withInterval("rate", median, low, high);
      assert.ok(marks.includes(`postgres:jsonb: ${text}`), marks.join("\n"));
      const table = await tableOf(page, "throughput");
      assert.equal(table.length - 1, report.groups.flatMap((group) => group.cells).length);
      const row = table.find(
        (row) => row[0] === "postgres:jsonb" && row[1] === report.groups[0]?.name,
      );
      assert.equal(row?.[3], units.rate(median));
      const lacking = table.find((row) => row.includes(cell(1, 4).unsupported ?? "?"));
      assert.equal(lacking?.[0], HOSTILE);
    }));

  test("a bar is as long as its figure", () =>
    opened({}, async (page) => {
      await marksOf(page, "throughput");
      const widths = await page
        .locator("#throughput .panel")
        .first()
        .locator("rect[data-figure]")
        .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute("width"))));
      const [first, second] = report.groups[0]?.cells ?? [];
      assert.ok(first && second && widths[0] && widths[1]);
      const expected = second.throughput_ops_per_s.median / first.throughput_ops_per_s.median;
      assert.ok(Math.abs(widths[1] / widths[0] - expected) < 0.002);
    }));

  test("an interval that goes beyond the axis ends in an arrow", () =>
    opened({}, async (page) => {
      await marksOf(page, "throughput");
      const arrows = page.locator('#throughput g[data-mark="dot"] path');
      assert.equal(await arrows.count(), 1, "one interval is cut off");
      const panel = page.locator("#throughput .panel", { has: page.locator('[data-mark="dot"]') });
      assert.equal(await panel.locator("h3").textContent(), report.groups[2]?.name);
      const [right, edge] = await Promise.all(
        [arrows, panel.locator(".chart > svg")].map((part) =>
          part.evaluate((shown) => shown.getBoundingClientRect().right),
        ),
      );
      assert.ok(right && edge && right <= edge && edge - right < 4, `${right} of ${edge}`);
    }));

  test("latency: a point at each percentile out to p99.99", () =>
    opened({}, async (page) => {
      const marks = await marksOf(page, "latency");
      const of = cell(0, 1).latency[0];
      assert.ok(of);
      for (const [name, at] of [
        ["p50", of.p50_ns],
        ["p99", of.p99_ns],
        ["p99.99", of.p9999_ns],
      ] as const) {
        const begin = `valkey at ${name}: ${units.time(at.median)} (`;
        assert.ok(
          marks.some((mark) => mark.startsWith(begin)),
          begin,
        );
      }
      const table = await tableOf(page, "latency");
      const row = table.find((row) => row[0] === "valkey");
      assert.ok(row?.includes(units.time(of.p9999_ns.median)));
      assert.ok(
        table.some((row) => row.includes("service")),
        "open loops have service times",
      );
    }));

  test("clients and rates: lines go over what was varied", () =>
    opened({}, async (page) => {
      const clients = await marksOf(page, "clients");
      const at16 = report.panels[0]?.lines[1]?.points.at(-1);
      assert.ok(at16);
      const rate = units.rate(at16.throughput_ops_per_s.median);
      assert.ok(
        clients.some((mark) => mark.startsWith(`valkey at 16: ${rate}`)),
        clients.join("\n"),
      );
      const rates = await marksOf(page, "rates");
      assert.ok(rates.some((mark) => mark.includes(`asked for ${units.rate(80_000)}`)));
      const panels = await page.locator("#rates h3").allTextContents();
      assert.deepEqual(panels.slice(0, 3), ["ycsb/a · p50", "ycsb/a · p99", "ycsb/a · p99.9"]);
    }));

  test("second by second: tracks share one time axis, and the table has the seconds", () =>
    opened({}, async (page) => {
      await drawAll(page, "#courses");
      const panel = page.locator("#courses .panel").first();
      const svg = panel.locator(".chart > svg");
      for (const track of [
        "throughput",
        "p99 response time",
        "CPU",
        "memory",
        "written to storage",
      ])
        assert.match((await svg.textContent()) ?? "", new RegExp(track));
      const lefts = await svg
        .locator("> svg")
        .evaluateAll((tracks) =>
          tracks.map(
            (track) => track.querySelector('[data-mark="line"] path')?.getBoundingClientRect().left,
          ),
        );
      assert.ok(lefts.length >= 5);
      assert.equal(new Set(lefts.slice(0, 4).map((left) => Math.round(left ?? -1))).size, 1);
      const table = await tableOf(page, "courses");
      const trial = report.trials[cell(0, 1).median_trial ?? -1];
      assert.ok(trial);
      const row = table.find((row) => row[0] === "valkey" && row[3] === "7");
      assert.equal(row?.[5], units.rate(trial.series.operations[7] as number));
      assert.equal(row?.[7], units.share((trial.series.server_cpu_ns?.[7] as number) / 1e9));
    }));

  test("CPU and bytes: server and client, memory and disk", () =>
    opened({}, async (page) => {
      const cpu = await marksOf(page, "cpu");
      const server = cell(0, 1).server_cpu_ns_per_op;
      assert.ok(server);
      const text = units.withInterval("time", server.median, server.low, server.high);
      assert.ok(cpu.includes(`valkey: server ${text}`), cpu.join("\n"));
      assert.ok(cpu.some((mark) => mark.startsWith("memory: in process ")));
      const bytes = await marksOf(page, "bytes");
      assert.ok(bytes.includes(`postgres:jsonb: disk ${units.bytes(1_526)}`));
      assert.ok(bytes.includes(`postgres:jsonb: memory ${units.bytes(1_390)}`));
    }));

  test("study: published points are marked as published", () =>
    opened({}, async (page) => {
      const marks = await marksOf(page, "study-1");
      assert.ok(marks.includes("Their store (published) at 5: 12.8\u202fµs"), marks.join("\n"));
      assert.ok(marks.some((mark) => mark.startsWith("memory at 10: 16.1\u202fµs (")));
      const legend = await page.locator("#study-1 .legend li").allTextContents();
      assert.ok(legend.includes("Their storepublished"));
      const table = await tableOf(page, "study-1");
      const range = table.find((row) => row[0] === "An older store");
      assert.deepEqual(range?.slice(2), ["published", "–", "–", "836", "1,268"]);
      assert.match(
        (await page.locator("#study-1 figcaption").textContent()) ?? "",
        /A Paper, CONF 2016/,
      );
    }));

  test("each has a heading, an aid, a caption, a name for screen readers, and downloads", () =>
    opened({}, async (page) => {
      await drawAll(page);
      const figures = page.locator("section.figure:has(figure)");
      assert.equal(await figures.count(), 8);
      for (const figure of await figures.all()) {
        assert.notEqual(await figure.locator("h2").textContent(), "");
        assert.notEqual(await figure.locator(".aid").textContent(), "");
        assert.equal(await figure.locator("figcaption").count(), 1);
        assert.equal(await figure.locator(".downloads button").count(), 2);
        const charts = await figure.locator(".chart").count();
        assert.ok(charts > 0);
        const named = await figure
          .locator('.chart > svg[role="img"]')
          .evaluateAll((all) => all.filter((svg) => svg.getAttribute("aria-label")).length);
        assert.equal(named, charts, "all were drawn and have a name");
      }
    }));
});

test("failures are shown by kind, with the store's words as they are", () =>
  opened({}, async (page) => {
    const cells = await page
      .locator("#failures tbody tr")
      .first()
      .locator("th,td")
      .allTextContents();
    assert.deepEqual(cells, [
      "redis",
      report.groups[0]?.name,
      "timeout",
      "3",
      "<0.1%",
      cell(0, 2).error_messages[0],
    ]);
  }));

describe("what one can do", () => {
  test("a click in the legend mutes the others, in every chart, and once more shows all", () =>
    opened({}, async (page) => {
      await marksOf(page, "throughput");
      const opacity = (system: number) =>
        page
          .locator(`#throughput [data-system="${system}"]`)
          .first()
          .evaluate((mark) => {
            for (const animation of mark.getAnimations()) animation.finish();
            return Number(getComputedStyle(mark).opacity);
          });
      const button = page.locator("#throughput .legend button", { hasText: "valkey" });
      await button.click();
      assert.equal(await button.getAttribute("aria-pressed"), "true");
      assert.equal(await opacity(1), 1);
      assert.ok((await opacity(0)) < 0.3);
      const elsewhere = page.locator("#latency .legend button", { hasText: "valkey" });
      assert.equal(await elsewhere.getAttribute("aria-pressed"), "true");
      await button.click();
      assert.equal(await button.getAttribute("aria-pressed"), "false");
      assert.equal(await opacity(0), 1);
    }));

  test("the keyboard does the same, and what is drawn later is muted too", () =>
    opened({}, async (page) => {
      const button = page.locator("#throughput .legend button", { hasText: "redis" });
      await button.focus();
      await page.keyboard.press("Space");
      assert.equal(await button.getAttribute("aria-pressed"), "true");
      await marksOf(page, "bytes");
      const later = await page
        .locator('#bytes [data-system="0"]')
        .first()
        .evaluate((mark) => Number(getComputedStyle(mark).opacity));
      assert.ok(later < 0.3);
      const all = page.locator("#throughput .legend .all");
      await all.focus();
      await page.keyboard.press("Enter");
      assert.equal(await button.getAttribute("aria-pressed"), "false");
      assert.ok(await page.evaluate(() => document.activeElement !== document.body));
    }));

  test("the pointer shows the figures at its place", () =>
    opened({}, async (page) => {
      await marksOf(page, "latency");
      const point = page.locator('#latency [data-figure^="valkey at p99:"]').first();
      await point.scrollIntoViewIfNeeded();
      // Scrolling hides what the pointer shows, and is told with the next frame.
      await page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
      );
      const box = await point.boundingBox();
      assert.ok(box);
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      const tip = page.locator(".tip");
      await tip.waitFor({ state: "visible" });
      const text = (await tip.textContent()) ?? "";
      assert.match(text, /percentile: p99/);
      assert.ok(text.includes(units.time(cell(0, 1).latency[0]?.p99_ns.median ?? 0)), text);
      assert.match(text, /postgres:jsonb/, "the other systems at the same place stand beside it");
      await page.mouse.move(2, 2);
      await tip.waitFor({ state: "hidden" });
    }));

  test("the arrow keys go through a chart's figures, and a screen reader hears them", () =>
    opened({}, async (page) => {
      await marksOf(page, "clients");
      await page.locator("#clients .chart").first().focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      const first = report.panels[0]?.lines[0]?.points[1];
      assert.ok(first);
      const spoken = (await page.locator("[aria-live]").textContent()) ?? "";
      assert.ok(
        spoken.startsWith(`memory, clients: 4, ${units.rate(first.throughput_ops_per_s.median)}`),
        spoken,
      );
      assert.equal(await page.locator(".tip").isVisible(), true);
      await page.keyboard.press("Escape");
      assert.equal(await page.locator(".tip").isVisible(), false);
    }));

  test("the CSV has raw numbers, the SVG stands by itself", () =>
    opened({}, async (page) => {
      const csv = await saved(page, "Download Throughput as CSV");
      const lines = csv.trimEnd().split("\r\n");
      assert.match(lines[0] ?? "", /^system,group,place,throughput_ops_per_s,low_ops_per_s/);
      const { median, low } = cell(0, 1).throughput_ops_per_s;
      assert.ok(
        lines.some((line) => line.startsWith(`valkey,ycsb/a · 1 client,2,${median},${low},`)),
      );
      assert.equal(lines.length, 1 + report.groups.flatMap((group) => group.cells).length);
      const svg = await saved(page, "Download Throughput as SVG");
      assert.match(svg, /^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
      assert.ok(!svg.includes("var(--"), "colors are plain");
      assert.ok(svg.includes("valkey") && !svg.includes(HOSTILE), "names are escaped");
      const harmed = await page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
        return parsed.querySelector("parsererror, script, img") !== null;
      }, svg);
      assert.equal(harmed, false);
    }));

  test("a trial opens: settings, version, seed, the command that repeats it, its course", () =>
    opened({}, async (page) => {
      const button = await trialButton(page, 3);
      await button.click();
      const trial = page.locator("#trials tr.detail");
      const text = (await trial.textContent()) ?? "";
      assert.match(text, /18446744073709551615/, "the seed is exact");
      assert.match(text, /Valkey 8\.1\.1/);
      assert.equal(await trial.locator("mark").textContent(), "io_threads = 4");
      assert.equal(await trial.locator(".command code").textContent(), report.trials[3]?.rerun);
      const [wide, table] = await Promise.all([
        trial.locator("dl").evaluate((list) => list.getBoundingClientRect().width),
        page
          .locator("#trials table")
          .first()
          .evaluate((all) => all.getBoundingClientRect().width),
      ]);
      assert.ok(wide > 0.9 * table, `${wide} of ${table}: the whole row is its`);
      await trial.locator(".chart svg").first().waitFor();
      await button.press("Enter");
      assert.equal(await trial.count(), 0);
    }));

  test("the theme goes from automatic to light to dark", () =>
    opened({ colorScheme: "light" }, async (page) => {
      const background = () =>
        page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const light = await background();
      const button = page.locator("button.theme");
      await button.click();
      assert.equal(await background(), light);
      await button.click();
      assert.notEqual(await background(), light);
      await button.click();
      assert.equal(await background(), light);
    }));

  test("on paper all is drawn, the tables are open, and nothing dark is left", () =>
    opened({ colorScheme: "dark" }, async (page) => {
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      await page.emulateMedia({ media: "print" });
      const charts = await page.locator(".chart").count();
      assert.equal(await page.locator(".chart > svg").count(), charts);
      assert.equal(await page.locator("details.table:not([open])").count(), 0);
      const background = await page.evaluate(
        () => getComputedStyle(document.documentElement).backgroundColor,
      );
      assert.equal(background, "rgb(253, 253, 251)");
      assert.equal(await page.locator(".downloads").first().isVisible(), false);
      await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
      assert.equal(await page.locator("details.table[open]").count(), 0);
    }));
});

describe("what it must not do", () => {
  test("a system called <script> harms nothing and is shown as it is called", () =>
    opened({}, async (page) => {
      await drawAll(page);
      for (const figure of ["throughput", "latency", "courses"]) await tableOf(page, figure);
      assert.equal(await page.evaluate(() => (window as { harmed?: number }).harmed), undefined);
      assert.equal(await page.locator("#report script, #report img").count(), 0);
      assert.ok((await page.locator(".legend button", { hasText: HOSTILE }).count()) > 0);
    }));

  test("data of another version is refused, and what stood there stays", async () => {
    const other = await fileOf({ ...report, report_version: 99 });
    const page = await browser.newPage();
    await page.goto(other);
    assert.match((await page.locator("[role=alert]").textContent()) ?? "", /version 99/);
    assert.equal(await page.locator("#fallback").count(), 1);
    await page.close();
  });

  for (const colorScheme of ["light", "dark"] as const)
    test(`axe finds nothing, ${colorScheme}`, () =>
      opened({ colorScheme, reducedMotion: "reduce", bypassCSP: true }, async (page) => {
        await drawAll(page);
        for (const figure of ["throughput", "courses", "study-1"]) await tableOf(page, figure);
        await (await trialButton(page, 0)).click();
        await page.locator("#settings summary").click();
        await page.addScriptTag({ content: await readFile(AXE, "utf8") });
        const violations = await page.evaluate(async () => {
          const { axe } = window as unknown as {
            axe: { run(): Promise<{ violations: Violation[] }> };
          };
          interface Violation {
            id: string;
            nodes: { html: string; failureSummary?: string }[];
          }
          const found = (await axe.run()).violations;
          return found.map(
            ({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`,
          );
        });
        assert.deepEqual(violations, []);
      }));

  for (const width of [360, 1280, 2560])
    test(`nothing is wider than a page of ${width} pixels`, () =>
      opened({ viewport: { width, height: 900 } }, async (page) => {
        await drawAll(page);
        await tableOf(page, "latency");
        await (await trialButton(page, 0)).click();
        const widest = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(widest <= width, `${widest}`);
      }));

  for (const width of [360, 1280])
    test(`charts keep their room until they are drawn: nothing moves, ${width} pixels`, () =>
      opened({ viewport: { width, height: 900 } }, async (page) => {
        const places = () =>
          page
            .locator("#report section")
            .evaluateAll((all) =>
              all.map((one) => [one.id, one.getBoundingClientRect().top + window.scrollY]),
            );
        const before = await places();
        assert.ok((await page.locator(".chart:empty").count()) > 0, "some are yet to be drawn");
        await drawAll(page);
        assert.equal(await page.locator(".chart:empty").count(), 0);
        assert.deepEqual(await places(), before);
      }));

  test("charts fit anew when the window changes", () =>
    opened({}, async (page) => {
      await marksOf(page, "latency");
      const width = () =>
        page
          .locator("#latency .chart > svg")
          .first()
          .evaluate((svg) => svg.getAttribute("width"));
      const before = await width();
      await page.setViewportSize({ width: 400, height: 800 });
      await page.waitForFunction(
        (old) => document.querySelector("#latency .chart > svg")?.getAttribute("width") !== old,
        before,
      );
      assert.notEqual(await width(), before);
    }));
});

async function saved(page: Page, label: string): Promise<string> {
  const [download]: [Download, unknown] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: label }).click(),
  ]);
  return readFile(await download.path(), "utf8");
}
