(() => {
  "use strict";
  const live = document.getElementById("live");
  const shown = () => document.getElementById("runs");
  let busy = false;
  let again = false;

  // Takes the list as the server writes it, and leaves the focus where it was.
  async function refresh() {
    again = true;
    if (busy) return;
    busy = true;
    try {
      while (again) {
        again = false;
        const answer = await fetch("/", { cache: "no-store" });
        if (!answer.ok) return location.reload();
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const focused = document.activeElement && document.activeElement.getAttribute("href");
        shown().replaceWith(document.adoptNode(page.getElementById("runs")));
        const links = [...shown().querySelectorAll("a")];
        const link = focused && links.find((link) => link.getAttribute("href") === focused);
        if (link) link.focus({ preventScroll: true });
      }
    } catch {
      live.textContent = "Not connected: this is what was known.";
    } finally {
      busy = false;
    }
  }

  const events = new EventSource("/events");
  events.addEventListener("hello", (event) => {
    live.textContent = "Live: what changes appears here.";
    if (String(JSON.parse(event.data).version) !== shown().dataset.version) refresh();
  });
  for (const kind of ["begun", "trial", "ended", "changed"]) events.addEventListener(kind, refresh);
  events.onerror = () => {
    live.textContent = "Not connected: this is what was known.";
  };
})();
