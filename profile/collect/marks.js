// Notes, in a Node process while it is profiled, from when until when a turn of the
// event loop works for which request, and counts requests by path. A turn is a
// request's from its head, or a piece of its body, until all that follows at once
// has run: what waits for a timer or another server comes in a turn of its own.
// Nothing here throws into the application; all of it is bounded, and undone by
// stop, by the lease's end, or when its time is over. Globals are the application's to
// replace, so what is needed later is taken now.
(function (key, most) {
  const PATHS = 4096, EVENTS = 1 << 20;
  const builtin = name => process.getBuiltinModule?.(name) ?? require(name);
  const http = builtin('http'), channels = builtin('diagnostics_channel'), { performance } = builtin('perf_hooks');
  const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval } = builtin('timers');
  const { apply, defineProperty, deleteProperty, getPrototypeOf } = Reflect, { nextTick } = process;
  const symbol = Symbol.for('whittle.marks');
  const all = globalThis[symbol] ?? new Map();
  const raw = new Map(); // by method, of a URL as it came, to a name's index
  let kept = 0; // in raw
  const names = new Map(), list = [], counts = [];
  const of = new WeakMap(); // requests that outlive their first turn, to a name's index
  const servers = new Set();
  let times = new Float64Array(1 << 12), codes = new Int32Array(1 << 12), n = 0;
  let on = true, cut = false; // it ended before its time
  const now = performance.now.bind(performance);

  const nameOf = (method, url, missing) => {
    const end = url.indexOf('?');
    let path = end < 0 ? url : url.slice(0, end);
    if (path.length > 300) path = '(a path above 300 characters)'; // cut, it could match a route that it is none of
    if (missing) method = '404 ' + method;
    let name = method + ' ' + path;
    let i = names.get(name);
    if (i === undefined && list.length >= PATHS / 2) { // too many: what looks like a key is left open
      name = method + ' ' + path.split('/').map(s => (/\d/.test(s) || s.length > 24 ? '{id}' : s)).join('/');
      i = names.get(name);
    }
    if (i === undefined) {
      if (list.length >= PATHS) return PATHS;
      i = list.push(name) - 1;
      counts.push(0);
      names.set(name, i);
    }
    return i;
  };
  const indexOf = ({ method, url }) => {
    let urls = raw.get(method);
    if (urls === undefined) raw.set(method, urls = new Map());
    let i = urls.get(url);
    if (i === undefined) {
      i = nameOf(method, url);
      if (kept < PATHS && url.length < 300) {
        kept++;
        urls.set(url, i);
      }
    }
    return i;
  };
  const note = code => {
    if (n === EVENTS) {
      end();
      return;
    }
    if (n === times.length) {
      const t = new Float64Array(2 * n), c = new Int32Array(2 * n);
      t.set(times);
      c.set(codes);
      [times, codes] = [t, c];
    }
    times[n] = now();
    codes[n++] = code;
  };
  // end notes no more: there is no room, or something went wrong. What is undone is undone
  // later, since a channel may be going through its subscribers.
  const end = () => {
    on = false;
    cut = true;
    setImmediate(undo);
  };
  const guarded = f => (a, b) => {
    if (!on) return;
    try {
      f(a, b);
    } catch {
      end();
    }
  };
  // A code is a name's index from 1, and in the bits above what happens: the turn is
  // that request's, it begins, it is over. 0: the turn ends. A request that is over
  // within the turn in which it began has only the turn.
  const BEGINS = 1 << 16, OVER = 2 << 16;
  // The request whose turn it is, its response and its name's index; where its begin
  // was noted, while it is in its first turn (-1: in a later one); whether it queued
  // more since, and whether that was waited for.
  let current = null, response = null, index = 0, begun = -1, more = false, waited = false;
  // The end of a turn comes once all that it queued has run: promises, then ticks.
  let under = 0;
  const resolved = Promise.resolve();
  const ended = guarded(() => {
    if (under === 1 && current !== null && !waited && (more || begun >= 0 && response.writableEnded)) { // it is about to be over
      waited = true;
      follow();
      return;
    }
    if (--under > 0) return;
    leave();
    note(0);
  });
  const tick = guarded(() => nextTick(ended));
  const follow = () => { resolved.then(tick); };
  const begin = (request, i, what) => {
    leave();
    current = request;
    index = i;
    begun = what && n < EVENTS ? n : -1;
    more = waited = false;
    note(what + i + 1);
    under++;
    follow();
  };
  // leave remembers the current request beyond its turn, where it is not over.
  const leave = () => {
    if (current !== null && begun >= 0) {
      of.set(current, index);
      watch();
    }
    current = null;
    begun = -1;
  };
  const started = guarded(message => {
    const { request, server } = message;
    const i = indexOf(request);
    if (i < PATHS) counts[i]++;
    if (servers.size < 16) servers.add(server);
    if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) watch();
    begin(request, i, BEGINS);
    response = message.response;
  });
  const finished = guarded(({ request, response }) => {
    again(request);
    over(request, response.statusCode === 404);
  });
  // A 404 within its first turn is named apart: perhaps no route's handler ran for it.
  const over = (request, missing) => {
    if (request === current && begun >= 0) {
      if (missing) {
        const i = nameOf(request.method, request.url, true);
        if (i < PATHS && index < PATHS) {
          counts[index]--;
          counts[i]++;
          index = i;
        }
      }
      codes[begun] = index + 1;
      begun = -1;
      return;
    }
    const i = of.get(request);
    if (i === undefined) return;
    of.delete(request);
    note(OVER + i + 1);
  };
  const again = request => {
    if (request === current) return;
    const i = of.get(request);
    if (i !== undefined) begin(request, i, 0);
  };
  // A method that a prototype inherits gets a note before it, while there is no
  // other such note; who looks at the prototype's own properties sees it. V8 throws
  // away what it optimized for the prototype as it was, so this is done only once a
  // request has a body or outlives its first turn.
  const noted = [];
  const before = (proto, name, note) => {
    if (Object.hasOwn(proto, name)) return;
    const parent = getPrototypeOf(proto), guard = guarded(note);
    const value = function () {
      guard(this, arguments[0]);
      return apply(parent[name], this, arguments);
    };
    for (const what of ['name', 'length']) defineProperty(value, what, { value: parent[name][what], configurable: true });
    noted.push(() => { if (proto[name] === value) deleteProperty(proto, name); });
    defineProperty(proto, name, { value, configurable: true, writable: true, enumerable: false });
  };
  let watches = false;
  const watch = () => {
    if (watches) return;
    watches = true;
    before(http.IncomingMessage.prototype, 'emit', (request, event) => {
      if (event === 'data' || event === 'end' || event === 'readable') {
        again(request);
        if (request === current) more = true;
      } else if (event === 'aborted') over(request);
    });
    before(http.ServerResponse.prototype, 'end', response => again(response.req));
  };
  let expiry, beat;
  const undo = () => {
    clearTimeout(expiry);
    clearInterval(beat);
    try {
      channels.unsubscribe('http.server.request.start', started);
      channels.unsubscribe('http.server.response.finish', finished);
    } catch {
      // then they are called, and do nothing
    }
    for (const one of noted) one();
  };
  // Nothing is undone before the step of the application's, or of ours, is through that the
  // inspector came into: Node 18 goes through a channel's subscribers as they are now.
  const stop = () => {
    on = false;
    all.delete(key);
    if (!all.size) deleteProperty(globalThis, symbol);
    setImmediate(undo);
  };
  // V8's clock, in microseconds, less ours: by the two readings of ours that are
  // nearest to each other, since the process may wait for a core between any two.
  let offset = 0, apart = Infinity;
  for (let i = 0; i < 5; i++) {
    const before = now(), [s, ns] = process.hrtime(), after = now();
    if (after - before >= apart) continue;
    apart = after - before;
    offset = s * 1e6 + ns / 1e3 - (before + after) / 2 * 1e3;
  }
  if (!defineProperty(globalThis, symbol, { value: all, configurable: true })) return false;
  all.set(key, {
    stop,
    servers,
    paths: () => list.slice(0, 500).map(name => name.slice(name.indexOf(' ') + 1)),
    result() {
      return JSON.stringify({
        names: list, counts, cut, offset,
        times: Buffer.from(times.buffer, 0, n * 8).toString('base64'),
        codes: Buffer.from(codes.buffer, 0, n * 4).toString('base64'),
      });
    },
  });
  try {
    channels.subscribe('http.server.request.start', started);
    channels.subscribe('http.server.response.finish', finished);
    expiry = setTimeout(stop, most).unref();
    // A timer's turn is nobody's: what goes on after it, as work in slices does, has let
    // the event loop go meanwhile.
    beat = setInterval(guarded(note), 20, 0).unref();
  } catch {
    stop();
    return false;
  }
  return true;
})
