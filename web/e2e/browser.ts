// Chromium without a window: Debian's, or the one that CHROMIUM names.

import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Where Debian puts it. The headless shell first: it always draws frames, while the browser that only
 * hides its window now and then stops, and whatever waits for a frame waits for ever. */
const PLACES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export function launch(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
  if (executablePath === undefined)
    throw new Error(`none of ${PLACES.join(", ")} is there: install one, or name one in CHROMIUM`);
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
}
