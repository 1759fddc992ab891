// A command with a button that copies it.

import { el } from "./dom.ts";

export function command(text: string, what: string): HTMLElement {
  const code = el("code", { tabindex: 0, role: "group", "aria-label": what }, text);
  const button = el("button", { type: "button", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text, code)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  return el("div", { class: "command" }, code, button);
}

/** A page opened from disk may have no clipboard of its own: the text is selected then. */
async function copy(text: string, shown: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    window.getSelection()?.selectAllChildren(shown);
    return document.execCommand("copy");
  }
}
