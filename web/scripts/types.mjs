// Writes src/document.ts, the types of the report's data, from src/report.schema.json.
// With --check it writes nothing and fails if the file is not what the schema gives.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const schemaPath = fileURLToPath(new URL("../src/report.schema.json", import.meta.url));
const typesPath = fileURLToPath(new URL("../src/document.ts", import.meta.url));

// A description beside a reference would make a second type of what it refers to.
const schema = JSON.parse(await readFile(schemaPath, "utf8"), (_, value) =>
  value !== null && typeof value.$ref === "string" ? { $ref: value.$ref } : value,
);
const types = await compile(schema, schema.title ?? "Page", {
  additionalProperties: false,
  bannerComment:
    "// Generated from report.schema.json by `npm run types`: edit the Rust structs instead.",
  style: { printWidth: 100 },
});

if (process.argv.includes("--check")) {
  const committed = await readFile(typesPath, "utf8").catch(() => "");
  if (committed !== types) {
    console.error("src/document.ts: not what report.schema.json gives; run `npm run types`");
    process.exit(1);
  }
} else {
  await writeFile(typesPath, types);
  console.log("src/document.ts written");
}
