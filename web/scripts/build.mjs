// Bundles src/ into dist/report.js and dist/report.css, which the assay binary embeds.
// With --check it writes nothing and fails if dist/ is not what the sources give.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { notices } from "./notices.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
/** The first that know `light-dark()`. */
const target = ["chrome123", "firefox120", "safari17.5"];

const bundled = await esbuild.build({
  absWorkingDir: root,
  entryPoints: { report: "src/main.ts" },
  outdir: "dist",
  bundle: true,
  write: false,
  minify: true,
  metafile: true,
  format: "iife",
  target,
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
const styles = await esbuild.build({
  absWorkingDir: root,
  entryPoints: { report: "src/report.css" },
  outdir: "dist",
  bundle: true,
  write: false,
  minify: true,
  target,
  charset: "utf8",
  logLevel: "warning",
});

const script = bundled.outputFiles[0].text;
const comment = await notices(root, Object.keys(bundled.metafile.inputs));
const whole = `${comment}${script}`;
// The script stands inline in HTML, under a policy that names its hash: nothing in it may end the
// element or open a comment there, and a browser must not see it otherwise than it is.
if (/<\/script|<!--|[\r\0]/i.test(whole))
  throw new Error("the bundle holds </script, <!--, a carriage return or NUL");
const files = new Map([
  ["report.js", whole],
  ["report.css", styles.outputFiles[0].text],
]);

if (process.argv.includes("--check")) {
  const stale = [];
  for (const [name, text] of files) {
    const committed = await readFile(join(dist, name), "utf8").catch(() => "");
    if (committed !== text) stale.push(`dist/${name}`);
  }
  if (stale.length > 0) {
    console.error(`${stale.join(" and ")}: not what the sources give; run \`npm run build\``);
    process.exit(1);
  }
  console.log("dist/ is what the sources give");
} else {
  await mkdir(dist, { recursive: true });
  for (const [name, text] of files) {
    await writeFile(join(dist, name), text);
    console.log(`dist/${name}: ${(Buffer.byteLength(text) / 1000).toFixed(0)} kB`);
  }
}
