import { useEffect, useRef, useState } from './dom.js';

// Hundreds of rows may change at once, and all but a few are out of sight. Those
// in sight are drawn at once and the others a few at a time, so that the page
// responds to a finger in between, and whoever reads or searches all of it finds
// figures that are a second old at most.
const few = 25;
const pause = 30; // ms between some and the next

const waiting = new Set(); // the longest first
let timer = 0;

function wait(row) {
  waiting.add(row);
  timer ||= setTimeout(some, pause);
}

function some() {
  timer = 0;
  let n = 0;
  for (const row of waiting) {
    waiting.delete(row);
    row.draw();
    if (++n === few) break;
  }
  if (waiting.size) timer = setTimeout(some, pause);
}

// A row counts as in sight from half a window away, so that scrolling meets
// nothing old.
const rows = new WeakMap();
const sight = new IntersectionObserver(seen => {
  for (const { target, isIntersecting } of seen) {
    const row = rows.get(target);
    if (!row) continue;
    row.seen = isIntersecting;
    if (isIntersecting && waiting.delete(row)) row.draw();
  }
}, { rootMargin: '50% 0px' });

// useTurn gives value, or what it was before until the element in the ref at
// comes into sight or its turn has come.
export function useTurn(value, at) {
  const [, again] = useState(0);
  const kept = useRef(null);
  const row = kept.current ??= { shown: value, seen: true, due: false, draw() { row.due = true; again(n => n + 1); } };
  if (row.seen || row.due) row.shown = value;
  row.due = false;
  useEffect(() => { if (row.shown !== value) wait(row); }, [value]);
  useEffect(() => {
    const element = at.current;
    rows.set(element, row);
    sight.observe(element);
    return () => { sight.unobserve(element); waiting.delete(row); };
  }, []);
  return row.shown;
}
