// Compiles TypeScript programs for node, packages left outside, into a folder under node_modules.

import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Paths of the compiled programs, in the order of the sources. */
export async function compile(sources, name) {
  const outdir = join(root, "node_modules", ".compiled", name);
  await rm(outdir, { recursive: true, force: true });
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: sources,
    outdir,
    outbase: join(root, name),
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    outExtension: { ".js": ".mjs" },
    sourcemap: "inline",
    logLevel: "warning",
  });
  return sources.map((source) => join(outdir, basename(source).replace(/\.ts$/, ".mjs")));
}
