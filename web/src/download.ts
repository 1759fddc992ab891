// Files that the page makes by itself: no server is asked.

/** Has the browser save a text as a file. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads the Blob after the click has returned.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A file name of a title: `latency-ycsb-a`. */
export function slug(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return name === "" ? "chart" : name.slice(0, 80);
}
