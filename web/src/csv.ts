// Comma-separated values as RFC 4180 has them: raw numbers, so that nothing is lost to formatting.

/** What a cell may hold; `null` is an empty cell. */
export type CsvValue = string | number | null | undefined;

/** A header line and a line for each row, ended by CRLF. */
export function csv(header: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(value: CsvValue): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  // A spreadsheet would run a text that begins like a formula; a quote before it keeps it a text.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
