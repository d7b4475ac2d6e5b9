import { events, problemOf } from './api.js';
import { reader } from './sse.js';
import { store } from './store.js';

// The server sends a heartbeat every ten seconds. A connection that has said
// nothing for this long is dead, whatever the network believes.
const silence = 25_000;
const soonest = 1000, latest = 15_000; // ms until the next attempt

// status is {version, routes} as of the last event, null before the first one.
// Its routes have a few findings without samples and their last decision only.
export const status = store(null);

// link says how that is known: {kind: 'connecting'}, {kind: 'live'}, {kind:
// 'lost', since, why, retryAt} with times in ms, or {kind: 'refused'} where a
// token is asked for. retryAt 0: an attempt is under way.
export const link = store({ kind: 'connecting' });

// heard is when the connection last said anything, in ms; 0: never.
let heard = 0;
export const lastHeard = () => heard;

let running = null; // the loop's AbortController
let hurry = () => {}; // ends the wait for the next attempt

export function start() {
  stop();
  running = new AbortController();
  link.set({ kind: 'connecting' });
  loop(running.signal);
}

export function stop() {
  running?.abort();
  running = null;
}

export const retryNow = () => hurry();

addEventListener('online', retryNow);
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && retryNow());

async function loop(ended) {
  let least = soonest;
  for (let failures = 0; !ended.aborted;) {
    const before = heard;
    let why;
    try {
      await listen(ended, ms => { least = Math.min(latest, Math.max(soonest, ms)); });
      why = 'whittle ended the connection';
    } catch (err) {
      if (ended.aborted) return;
      if (err.code === 'unauthenticated' || err.code === 'permission_denied') {
        link.set({ kind: 'refused' });
        return;
      }
      why = err.why ?? (err.code ? err.message : 'whittle could not be reached');
    }
    if (ended.aborted) return;
    failures = heard > before ? 0 : failures + 1;
    const wait = Math.min(latest, least * 2 ** Math.min(failures, 5)) * (0.75 + Math.random() / 4);
    const was = link.get();
    const lost = { kind: 'lost', since: was.kind === 'lost' ? was.since : heard || Date.now(), why };
    link.set({ ...lost, retryAt: Date.now() + wait });
    await pause(wait, ended);
    if (!ended.aborted) link.set({ ...lost, retryAt: 0 });
  }
}

// listen reads events until the connection ends, and throws where it broke.
async function listen(ended, onRetry) {
  const quiet = new AbortController();
  let spoke = Date.now();
  const watch = setInterval(() => Date.now() - spoke > silence && quiet.abort(), 1000);
  try {
    const response = await events(AbortSignal.any([ended, quiet.signal]));
    if (!response.ok) throw await problemOf(response);
    const feed = reader((name, data) => {
      if (name !== 'status') return;
      status.set(joined(status.get(), JSON.parse(data)));
      if (link.get().kind !== 'live') link.set({ kind: 'live' });
    }, onRetry);
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return;
      spoke = heard = Date.now();
      feed(value);
    }
  } catch (err) {
    if (quiet.signal.aborted) err = Object.assign(new Error('silent'), { why: `nothing was heard for ${silence / 1000} seconds` });
    throw err;
  } finally {
    clearInterval(watch);
  }
}

// joined puts what has changed in its place. The objects of routes that have
// not stay the same, so that nothing about them is drawn again.
function joined(before, now) {
  if (!now.partial || !before) return now; // with the fleet, where there is one
  const changed = new Map(now.routes.map(r => [r.route, r]));
  return { ...now, fleet: now.fleet ?? before.fleet, routes: before.routes.map(r => changed.get(r.route) ?? r) };
}

function pause(ms, ended) {
  return new Promise(over => {
    const timer = setTimeout(over, ms);
    hurry = () => { clearTimeout(timer); over(); };
    ended.addEventListener('abort', hurry, { once: true });
  });
}
