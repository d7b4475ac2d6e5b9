const quoted = s => "'" + s.replace(/\\/g, '\\\\').replace(/'/g, "\\'").replace(/\n/g, '\\n') + "'";
const show = (v, depth, seen) => {
  if (typeof v === 'string') return quoted(v);
  if (typeof v === 'bigint') return v + 'n';
  if (typeof v === 'function') return '[Function: ' + (v.name || '(anonymous)') + ']';
  if (v === null || typeof v !== 'object') return String(v);
  if (seen.includes(v)) return '[Circular *1]';
  if (v instanceof Error) return v.stack || String(v);
  if (v instanceof Date) return isNaN(v) ? 'Invalid Date' : v.toISOString();
  if (v instanceof RegExp) return String(v);
  if (v instanceof Promise) return 'Promise { ... }';
  const list = Array.isArray(v), next = seen.concat([v]);
  if (depth < 0) return list ? '[Array]' : '[Object]';
  let items;
  if (list) {
    items = v.slice(0, 100).map(x => show(x, depth - 1, next));
    if (v.length > 100) items.push('... ' + (v.length - 100) + ' more items');
  } else if (v instanceof Map) items = [...v].map(([k, x]) => show(k, depth - 1, next) + ' => ' + show(x, depth - 1, next));
  else if (v instanceof Set) items = [...v].map(x => show(x, depth - 1, next));
  else items = Object.keys(v).map(k => (/^[A-Za-z_$][\w$]*$/.test(k) ? k : quoted(k)) + ': ' + show(v[k], depth - 1, next));
  const kind = !list && v.constructor && v.constructor !== Object && v.constructor.name ? v.constructor.name + ' ' : '';
  if (!items.length) return kind + (list ? '[]' : '{}');
  const line = items.join(', ');
  if (line.length <= 72 && !line.includes('\n')) return kind + (list ? '[ ' : '{ ') + line + (list ? ' ]' : ' }');
  const lines = items.map(t => '  ' + t.replace(/\n/g, '\n  ')).join(',\n');
  return kind + (list ? '[\n' : '{\n') + lines + (list ? '\n]' : '\n}');
};
const inspect = (v, o) => show(v, o && o.depth !== undefined ? (o.depth === null ? Infinity : o.depth) : 2, []);
inspect.custom = Symbol.for('nodejs.util.inspect.custom');
const format = (first, ...rest) => {
  const plain = v => typeof v === 'string' ? v : inspect(v);
  if (typeof first !== 'string') return [first, ...rest].map(plain).join(' ');
  let i = 0;
  const text = first.replace(/%[sdifjoOc%]/g, mark => {
    if (mark === '%%') return '%';
    if (i >= rest.length) return mark;
    const v = rest[i++];
    switch (mark) {
    case '%s': return plain(v);
    case '%d': return String(Number(v));
    case '%i': return String(parseInt(v, 10));
    case '%f': return String(parseFloat(v));
    case '%j': return JSON.stringify(v);
    case '%c': return '';
    }
    return inspect(v);
  });
  return [text, ...rest.slice(i).map(plain)].join(' ');
};
const custom = Symbol.for('nodejs.util.promisify.custom');
const promisify = f => f[custom] || function (...args) {
  return new Promise((resolve, reject) => f.call(this, ...args, (err, v) => err ? reject(err) : resolve(v)));
};
promisify.custom = custom;
class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return new Uint8Array(native.encode(String(text), 'utf8')); }
}
class TextDecoder {
  constructor(encoding = 'utf-8') { this.encoding = encoding; }
  decode(v) { return v === undefined ? '' : native.decode(v instanceof ArrayBuffer ? v : v.buffer.slice(v.byteOffset, v.byteOffset + v.byteLength), this.encoding.toLowerCase()); }
}
const equal = (a, b) => {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  const x = Object.keys(a), y = Object.keys(b);
  return Array.isArray(a) === Array.isArray(b) && x.length === y.length && x.every(k => equal(a[k], b[k]));
};
module.exports = {
  inspect, format, promisify, TextEncoder, TextDecoder, isDeepStrictEqual: equal,
  callbackify: f => (...args) => { const done = args.pop(); f(...args).then(v => done(null, v), done); },
  deprecate: f => f, debuglog: () => () => {}, debug: () => () => {},
  inherits: (a, b) => { Object.setPrototypeOf(a.prototype, b.prototype); Object.setPrototypeOf(a, b); },
  isArray: Array.isArray, isString: v => typeof v === 'string', isFunction: v => typeof v === 'function',
  stripVTControlCharacters: t => t.replace(/\u001b\[[0-9;]*m/g, ''),
  types: {isDate: v => v instanceof Date, isRegExp: v => v instanceof RegExp, isPromise: v => v instanceof Promise,
    isNativeError: v => v instanceof Error, isProxy: () => false, isTypedArray: v => ArrayBuffer.isView(v), isUint8Array: v => v instanceof Uint8Array},
};
