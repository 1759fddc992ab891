// The page as the assay binary makes it: data, styles and script inline in one HTML file.

import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Report } from "../src/document.ts";

/** The HTML of a report. */
export async function html(report: Report): Promise<string> {
  const script = await readFile("dist/report.js", "utf8");
  const styles = await readFile("dist/report.css", "utf8");
  const data = JSON.stringify(report).replaceAll("<", "\\u003c");
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    "<title>Assay</title><style>",
    styles,
    '</style></head><body><main id="report"><div id="fallback"><p>Without script.</p></div></main>',
    '<script type="application/json" id="report-data">',
    data,
    "</script><script>",
    script,
    "</script></body></html>",
  ].join("");
}

/** The URL of a file that holds the report's page. */
export async function fileOf(report: Report): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "assay-report-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "report.html");
  await writeFile(path, await html(report));
  return pathToFileURL(path).href;
}
