// The assay program itself: the one that ASSAY_BIN names, or what cargo built for development.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const target = process.env.CARGO_TARGET_DIR ?? "../target";
const program = resolve(process.env.ASSAY_BIN ?? `${target}/debug/assay`);

/** What `assay run` is told so that a trial takes no time. */
export const TINY = "--records 200 --warmup 0 --clients 1 --quiet".split(" ");

function found(): string {
  if (!existsSync(program))
    throw new Error(
      `there is no ${program}: build it with 'cargo build -p assay', or name it in ASSAY_BIN`,
    );
  return program;
}

/** Runs the program to its end. */
export async function assay(...words: string[]): Promise<void> {
  await promisify(execFile)(found(), words);
}

/** Starts the program. */
export function started(...words: string[]): ChildProcess {
  return spawn(found(), words, { stdio: ["ignore", "pipe", "ignore"] });
}

/** The first line that a program prints. */
export async function firstLine(of: ChildProcess): Promise<string> {
  if (of.stdout) for await (const line of createInterface({ input: of.stdout })) return line;
  throw new Error("it printed nothing");
}

/** Ends a program. */
export async function ended(of: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!of || of.exitCode !== null || of.signalCode !== null) return;
  const gone = new Promise((done) => of.once("exit", done));
  of.kill(signal);
  await gone;
}
