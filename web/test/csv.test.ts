import assert from "node:assert/strict";
import { test } from "node:test";
import { csv } from "../src/csv.ts";

test("a line for the names and one for each row, numbers raw", () => {
  const text = csv(
    ["system", "p99_ns"],
    [
      ["redis", 123456.789],
      ["valkey", null],
    ],
  );
  assert.equal(text, "system,p99_ns\r\nredis,123456.789\r\nvalkey,\r\n");
});

test("commas, quotes and line ends are quoted", () => {
  assert.equal(csv(["a"], [['x,"y"\nz']]), 'a\r\n"x,""y""\nz"\r\n');
});

test("a text cannot become a formula", () => {
  assert.equal(csv(["a"], [["=1+1"], ["@x"], [-5]]), "a\r\n'=1+1\r\n'@x\r\n-5\r\n");
});
