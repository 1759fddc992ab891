// The licenses of the packages in a bundle, as the comment that opens it.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Packages with the same license text share it. */
export async function notices(root, inputs) {
  const names = new Set();
  for (const input of inputs) {
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (name) names.add(name[1]);
  }
  const byText = new Map();
  for (const name of [...names].sort()) {
    const folder = join(root, "node_modules", name);
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name}: no license file; look at what may be bundled`);
    const text = (await readFile(join(folder, file), "utf8")).trim().replaceAll("*/", "* /");
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  const parts = [...byText].map(([text, packages]) => `${packages.join(", ")}:\n\n${text}\n`);
  return parts.length > 0 ? `/*\nThis file includes:\n\n${parts.join("\n")}*/\n` : "";
}
