// Runs one TypeScript program: `node scripts/run.mjs e2e/speed.ts [arguments]`.

import { pathToFileURL } from "node:url";
import { compile } from "./compile.mjs";

const [source, ...rest] = process.argv.slice(2);
const [program] = await compile([source], "e2e");
process.argv = [process.argv[0], program, ...rest];
await import(pathToFileURL(program).href);
