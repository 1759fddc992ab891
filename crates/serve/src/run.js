(() => {
  "use strict";
  const { run, done } = document.currentScript.dataset;
  const LEAST_MS = 2000;
  const loaded = performance.now();
  let due = false;

  // Takes the page anew, not too often, and not while nobody looks.
  function refresh() {
    if (due) return;
    due = true;
    setTimeout(() => {
      if (!document.hidden) return location.reload();
      document.addEventListener("visibilitychange", () => location.reload(), { once: true });
    }, Math.max(0, LEAST_MS - (performance.now() - loaded)));
  }

  const events = new EventSource("/events");
  events.addEventListener("hello", (event) => {
    const known = JSON.parse(event.data).running.find((other) => other.id === run);
    if (!known || known.done > Number(done)) refresh();
  });
  for (const kind of ["trial", "ended", "changed"]) {
    events.addEventListener(kind, (event) => {
      if (JSON.parse(event.data).id === run) refresh();
    });
  }
})();
