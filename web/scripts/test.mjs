// Runs the tests in a folder with node's test runner: `node scripts/test.mjs test`.

import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "./compile.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = process.argv[2];
const sources = (await readdir(join(root, folder))).filter((name) => name.endsWith(".test.ts"));
if (sources.length === 0) throw new Error(`${folder}: no *.test.ts`);
const programs = await compile(
  sources.map((name) => join(folder, name)),
  folder,
);
const node = spawn(process.execPath, ["--enable-source-maps", "--test", ...programs], {
  cwd: root,
  stdio: "inherit",
});
node.on("exit", (code) => process.exit(code ?? 1));
