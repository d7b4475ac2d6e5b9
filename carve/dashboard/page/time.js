import { html, useEffect, useState } from './dom.js';
import { span } from './format.js';
import { store, useStore } from './store.js';

// now ticks once a second while somebody looks at it.
const now = store(Date.now());
let watchers = 0, timer = 0;

export function useNow() {
  useEffect(() => {
    if (watchers++ === 0) timer = setInterval(() => now.set(Date.now()), 1000);
    return () => { if (--watchers === 0) clearInterval(timer); };
  }, []);
  return Math.max(useStore(now), Date.now() - 1000);
}

const exactly = new Intl.DateTimeFormat(undefined, {
  year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, timeZoneName: 'short', hourCycle: 'h23',
});
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

export const exact = ms => exactly.format(ms);
export const hour = ms => clock.format(ms);

// short is the time of day, and the day where it is another one.
export const short = ms => (new Date(ms).toDateString() === new Date().toDateString() ? clock.format(ms) : `${day.format(ms)}, ${clock.format(ms)}`);

// parse gives an API's time in ms, NaN for Go's zero time.
export function parse(at) {
  const ms = Date.parse(at);
  return ms > 0 ? ms : NaN;
}

// At shows a moment in the viewer's zone; the exact one is in its title.
export function At({ at }) {
  const ms = typeof at === 'number' ? at : parse(at);
  if (Number.isNaN(ms)) return html`<span>–</span>`;
  return html`<time datetime=${new Date(ms).toISOString()} title=${exact(ms)}>${short(ms)}</time>`;
}

// Ago shows how long ago it was, and keeps counting.
export function Ago({ at }) {
  const current = useNow();
  const ms = typeof at === 'number' ? at : parse(at);
  if (Number.isNaN(ms)) return html`<span>–</span>`;
  return html`<time datetime=${new Date(ms).toISOString()} title=${exact(ms)}>${span(current - ms)} ago</time>`;
}
