// The globals of Node that plans use.
const define = (name, value) => Object.defineProperty(globalThis, name, {value, writable: true, configurable: true, enumerable: false});
const missing = name => new Error(name + ' is not supported in whittle: there is no Node here. Requests are the steps of the plan; see docs/load.md');

// What stands for a module that is not here: requiring it is no error, using it is.
define('__absent', name => new Proxy(function () {}, {
  get: (_, key) => {
    if (typeof key === 'symbol' || key === '__esModule' || key === 'default' || key === 'prototype' || key === 'promises') return undefined;
    return new Proxy(function () { throw missing(name + '.' + String(key)); }, {
      construct: () => { throw missing(name + '.' + String(key)); },
    });
  },
  apply: () => { throw missing(name); },
  construct: () => { throw missing(name); },
}));

define('global', globalThis);
// Where the engine has none, the one that lowered modules look for.
if (!Symbol.asyncIterator) Object.defineProperty(Symbol, 'asyncIterator', {value: Symbol.for('Symbol.asyncIterator')});
const {inspect, format} = require('util');
const print = (...args) => native.print(format(...args));
const counts = {}, clocks = {};
define('console', {
  log: print, info: print, warn: print, error: print, debug: print, trace: print, table: print,
  dir: v => native.print(inspect(v)), group: print, groupEnd: () => {},
  assert: (ok, ...args) => { if (!ok) print('Assertion failed:', ...args); },
  count: (label = 'default') => { counts[label] = (counts[label] || 0) + 1; print(label + ': ' + counts[label]); },
  time: (label = 'default') => { clocks[label] = native.now(); },
  timeEnd: (label = 'default') => print(label + ': ' + (native.now() - clocks[label]).toFixed(3) + 'ms'),
  timeLog: (label = 'default') => print(label + ': ' + (native.now() - clocks[label]).toFixed(3) + 'ms'),
});

// The engine has no locales, so it refuses to format by one.
for (const [type, ...names] of [[Number, 'toLocaleString'], [Date, 'toLocaleString', 'toLocaleDateString', 'toLocaleTimeString']]) {
  for (const name of names) Object.defineProperty(type.prototype, name, {writable: true, configurable: true, value() {
    throw new Error(name + ' is not supported in whittle, which has no locales: use toFixed, toISOString or toString');
  }});
}

// The engine misreads named groups and \p{ }, so RegExp refuses them.
const Pattern = RegExp;
define('RegExp', function RegExp(pattern, flags) {
  if (typeof pattern === 'string' && /\(\?<[A-Za-z_$]|\\[pP]\{\w/.test(pattern.replace(/\\\\/g, ''))) {
    throw new SyntaxError(pattern + ' is not supported in whittle: named groups and \\p{ } are newer than ES2017');
  }
  return new Pattern(pattern, flags);
});
RegExp.prototype = Pattern.prototype;
RegExp.prototype.constructor = RegExp;

class Timeout {
  constructor(id) { this.id = id; }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return true; }
  refresh() { return this; }
  [Symbol.toPrimitive]() { return this.id; }
}
const clear = t => { if (t) native.clearTimer(t instanceof Timeout ? t.id : Number(t)); };
define('setTimeout', (f, ms = 0, ...args) => new Timeout(native.setTimer(() => f(...args), ms)));
define('setImmediate', (f, ...args) => new Timeout(native.setTimer(() => f(...args), 0)));
define('setInterval', (f, ms = 1, ...args) => {
  const t = new Timeout(0);
  const again = () => { t.id = native.setTimer(() => { again(); f(...args); }, Math.max(ms, 1)); };
  again();
  return t;
});
define('clearTimeout', clear);
define('clearInterval', clear);
define('clearImmediate', clear);
define('queueMicrotask', f => native.runMicrotask(f));

const began = native.now();
define('performance', {now: () => native.now() - began, timeOrigin: began, mark: () => {}, measure: () => {}});
const env = new Proxy({}, {
  get: (own, key) => {
    if (typeof key === 'symbol') return undefined;
    if (key in own) return own[key];
    const v = native.env(key);
    return v === null ? undefined : v;
  },
  has: (own, key) => key in own || native.env(String(key)) !== null,
  set: (own, key, v) => { own[key] = String(v); return true; },
});
const hrtime = since => {
  const ms = native.now() - began;
  let s = Math.floor(ms / 1000), ns = Math.floor((ms % 1000) * 1e6);
  if (since) { s -= since[0]; ns -= since[1]; if (ns < 0) { s--; ns += 1e9; } }
  return [s, ns];
};
hrtime.bigint = () => BigInt(Math.floor((native.now() - began) * 1e6));
define('process', {
  env, argv: ['node', 'whittle'], execArgv: [], platform: 'linux', arch: 'x64', pid: 1, version: 'v22.0.0', title: 'whittle',
  versions: {node: '22.0.0'}, release: {name: 'node'}, exitCode: undefined,
  cwd: () => '/', hrtime, uptime: () => (native.now() - began) / 1000,
  nextTick: (f, ...args) => native.runMicrotask(() => f(...args)),
  memoryUsage: () => ({rss: 0, heapTotal: 0, heapUsed: 0, external: 0}),
  on: () => process, once: () => process, off: () => process, emit: () => false, removeListener: () => process, emitWarning: print,
  stdout: {write: t => { native.print(String(t).replace(/\n$/, '')); return true; }, isTTY: false},
  stderr: {write: t => { native.print(String(t).replace(/\n$/, '')); return true; }, isTTY: false},
  exit: () => { throw new Error('process.exit is not supported in whittle: a script cannot end the run'); },
  loadEnvFile: () => { throw missing('process.loadEnvFile'); },
});

// A text or a list that one call makes has its bound: it could not be interrupted.
const most = 64 * 1024 * 1024;
const bounded = (of, name, size) => {
  const own = of[name];
  Object.defineProperty(of, name, {value: function (...args) {
    if (size(this, args) > most) throw new RangeError(name + ' would make more than ' + most + ' characters or items');
    return own.apply(this, args);
  }, writable: true, configurable: true, enumerable: false});
};
bounded(String.prototype, 'repeat', (self, [n]) => String(self).length * n);
bounded(String.prototype, 'padStart', (self, [n]) => n);
bounded(String.prototype, 'padEnd', (self, [n]) => n);
for (const name of ['fill', 'join', 'concat', 'reverse']) bounded(Array.prototype, name, self => self.length);
bounded(Array, 'from', (_, [list]) => list && typeof list.length === 'number' ? list.length : 0);

const {Buffer} = require('buffer');
define('Buffer', Buffer);
define('atob', text => native.decode(native.encode(String(text), 'base64'), 'latin1'));
define('btoa', text => native.decode(native.encode(String(text), 'latin1'), 'base64'));
const {TextEncoder, TextDecoder} = require('util');
define('TextEncoder', TextEncoder);
define('TextDecoder', TextDecoder);
const {URL, URLSearchParams} = require('url');
define('URL', URL);
define('URLSearchParams', URLSearchParams);
define('crypto', require('crypto').webcrypto);
const copy = (v, seen) => {
  if (typeof v === 'function') throw new TypeError('a function cannot be cloned');
  if (v === null || typeof v !== 'object') return v;
  if (seen.has(v)) return seen.get(v);
  if (v instanceof Date) return new Date(v.getTime());
  if (v instanceof RegExp) return new RegExp(v.source, v.flags);
  const out = Array.isArray(v) ? [] : v instanceof Map ? new Map() : v instanceof Set ? new Set() : {};
  seen.set(v, out);
  if (v instanceof Map) for (const [k, x] of v) out.set(copy(k, seen), copy(x, seen));
  else if (v instanceof Set) for (const x of v) out.add(copy(x, seen));
  else for (const k of Object.keys(v)) out[k] = copy(v[k], seen);
  return out;
};
define('structuredClone', v => copy(v, new Map()));
define('fetch', () => { throw missing('fetch'); });
