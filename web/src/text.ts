// Words from values.

/** With a capital first letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(parts: readonly string[]): string {
  if (parts.length < 2) return parts[0] ?? "";
  return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** `1 trial`, `2 trials`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** `read_modify_write` as people say it. */
export function kindName(kind: string): string {
  return kind === "read_modify_write" ? "read-modify-write" : kind.replaceAll("_", " ");
}

/** `2026-11-22 02:26 UTC` of an RFC 3339 time in UTC; another text as it is. */
export function moment(at: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::[\d.]+)?Z$/.exec(at);
  return parts ? `${parts[1]} ${parts[2]} UTC` : at;
}
