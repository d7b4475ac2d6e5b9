const enc = s => encodeURIComponent(s).replace(/[!'()~]/g, c => '%' + c.charCodeAt(0).toString(16).toUpperCase()).replace(/%20/g, '+');
const dec = s => { const t = s.replace(/\+/g, ' '); try { return decodeURIComponent(t); } catch { return t; } };
class URLSearchParams {
  #list = [];
  #changed;
  constructor(init = '', changed) {
    this.#changed = changed || (() => {});
    if (typeof init === 'string') {
      for (const p of init.replace(/^\?/, '').split('&')) {
        if (!p) continue;
        const at = p.indexOf('=');
        this.#list.push(at < 0 ? [dec(p), ''] : [dec(p.slice(0, at)), dec(p.slice(at + 1))]);
      }
    } else if (init && typeof init[Symbol.iterator] === 'function') for (const [k, v] of init) this.#list.push([String(k), String(v)]);
    else for (const k of Object.keys(init || {})) this.#list.push([k, String(init[k])]);
  }
  append(k, v) { this.#list.push([String(k), String(v)]); this.#changed(); }
  delete(k) { this.#list = this.#list.filter(p => p[0] !== k); this.#changed(); }
  get(k) { const p = this.#list.find(p => p[0] === k); return p ? p[1] : null; }
  getAll(k) { return this.#list.filter(p => p[0] === k).map(p => p[1]); }
  has(k) { return this.#list.some(p => p[0] === k); }
  set(k, v) {
    const at = this.#list.findIndex(p => p[0] === k);
    if (at < 0) this.#list.push([k, String(v)]);
    else { this.#list[at][1] = String(v); this.#list = this.#list.filter((p, i) => p[0] !== k || i === at); }
    this.#changed();
  }
  sort() { this.#list.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0); this.#changed(); }
  forEach(f) { for (const [k, v] of this.#list) f(v, k, this); }
  keys() { return this.#list.map(p => p[0])[Symbol.iterator](); }
  values() { return this.#list.map(p => p[1])[Symbol.iterator](); }
  entries() { return this.#list.map(p => p.slice())[Symbol.iterator](); }
  [Symbol.iterator]() { return this.entries(); }
  get size() { return this.#list.length; }
  toString() { return this.#list.map(([k, v]) => enc(k) + '=' + enc(v)).join('&'); }
}
class URL {
  constructor(text, base) {
    const parts = native.parseURL(String(text), base === undefined ? '' : String(base));
    if (!parts) { const e = new TypeError('Invalid URL'); e.code = 'ERR_INVALID_URL'; e.input = String(text); throw e; }
    Object.assign(this, parts);
    Object.defineProperty(this, 'searchParams', {value: new URLSearchParams(this.search, () => {
      const t = this.searchParams.toString();
      this.search = t ? '?' + t : '';
    }), enumerable: false});
  }
  static canParse(text, base) { return native.parseURL(String(text), base === undefined ? '' : String(base)) !== null; }
  get host() { return this.hostname + (this.port ? ':' + this.port : ''); }
  get origin() { return this.protocol + '//' + this.host; }
  get href() {
    const who = this.username ? this.username + (this.password ? ':' + this.password : '') + '@' : '';
    return this.protocol + (this.hostname ? '//' + who + this.host : '') + this.pathname + this.search + this.hash;
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
}
const parse = (text, queries) => {
  const p = native.parseURL(text, '') || native.parseURL(text, 'http://none.invalid');
  const known = native.parseURL(text, '') !== null;
  const out = {protocol: known ? p.protocol : null, hostname: known ? p.hostname : null, port: p.port || null, pathname: p.pathname, search: p.search || null, hash: p.hash || null,
    auth: p.username ? p.username + (p.password ? ':' + p.password : '') : null, slashes: known, href: text, path: p.pathname + p.search};
  out.host = known ? p.hostname + (p.port ? ':' + p.port : '') : null;
  out.query = queries ? require('querystring').parse(p.search.slice(1)) : p.search ? p.search.slice(1) : null;
  return out;
};
module.exports = {
  URL, URLSearchParams, parse,
  resolve: (from, to) => new URL(to, from).href,
  format: u => u instanceof URL ? u.href : (u.protocol ? u.protocol.replace(/:?$/, ':') + '//' : '') + (u.auth ? u.auth + '@' : '') +
    (u.host || (u.hostname || '') + (u.port ? ':' + u.port : '')) + (u.pathname || '') + (u.search || (u.query ? '?' + require('querystring').stringify(u.query) : '')) + (u.hash || ''),
  fileURLToPath: u => new URL(u).pathname, pathToFileURL: p => new URL('file://' + p),
};
