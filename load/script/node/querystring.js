const escape = s => encodeURIComponent(s).replace(/[!'()*]/g, c => c === "'" || c === '!' || c === '(' || c === ')' || c === '*' ? c : c);
const unescape = s => { try { return decodeURIComponent(s); } catch { return s; } };
const text = v => typeof v === 'string' ? v : typeof v === 'number' && isFinite(v) || typeof v === 'boolean' || typeof v === 'bigint' ? String(v) : '';
const stringify = (o, sep = '&', eq = '=') => o === null || typeof o !== 'object' ? '' : Object.keys(o).map(k =>
  Array.isArray(o[k]) ? o[k].map(v => escape(k) + eq + escape(text(v))).join(sep) : escape(k) + eq + escape(text(o[k]))).filter(Boolean).join(sep);
const parse = (s, sep = '&', eq = '=') => {
  const out = Object.create(null);
  for (const part of String(s || '').split(sep)) {
    if (!part) continue;
    const at = part.indexOf(eq), read = t => unescape(t.replace(/\+/g, ' '));
    const k = read(at < 0 ? part : part.slice(0, at)), v = at < 0 ? '' : read(part.slice(at + eq.length));
    out[k] = k in out ? [].concat(out[k], v) : v;
  }
  return out;
};
module.exports = {stringify, parse, escape, unescape, encode: stringify, decode: parse};
