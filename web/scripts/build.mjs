// Bundles src/ into dist/report.js and dist/report.css, which the assay binary embeds.
// With --check it writes nothing and fails if dist/ is not what the sources give.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { notices } from "./notices.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

const bundled = await esbuild.build({
  absWorkingDir: root,
  entryPoints: [
    { in: "src/main.ts", out: "report" },
    { in: "src/report.css", out: "report" },
  ],
  outdir: "dist",
  bundle: true,
  write: false,
  minify: true,
  metafile: true,
  format: "iife",
  // The first that know `light-dark()`.
  target: ["chrome123", "firefox120", "safari17.5"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
const output = (name) => bundled.outputFiles.find((file) => basename(file.path) === name).text;
const comment = await notices(root, Object.keys(bundled.metafile.inputs));
const script = `${comment}${output("report.js")}`;
// The script stands inline in HTML, under a policy that names its hash: nothing in it may end the
// element or open a comment there, and a browser must not see it otherwise than it is.
if (/<\/script|<!--|[\r\0]/i.test(script))
  throw new Error("the bundle holds </script, <!--, a carriage return or NUL");
const files = new Map([
  ["report.js", script],
  ["report.css", output("report.css")],
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
