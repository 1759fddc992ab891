// Work that waits until its place comes into view, or until the page is printed.

const waiting = new Map<Element, () => void>();
let observer: IntersectionObserver | undefined;

/** Calls `draw` once: when `place` is about to be seen, or all is drawn. */
export function whenSeen(place: Element, draw: () => void): void {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) settle(entry.target);
    },
    { rootMargin: "500px 0px" },
  );
  waiting.set(place, draw);
  observer.observe(place);
}

/** Draws all that still waits. */
export function drawAll(): void {
  for (const place of [...waiting.keys()]) settle(place);
}

function settle(place: Element): void {
  const draw = waiting.get(place);
  waiting.delete(place);
  observer?.unobserve(place);
  draw?.();
}
