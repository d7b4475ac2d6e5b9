const normal = (parts, rooted) => {
  const out = [];
  for (const p of parts) {
    if (p === '' || p === '.') continue;
    if (p === '..' && out.length && out[out.length - 1] !== '..') out.pop();
    else if (p !== '..' || !rooted) out.push(p);
  }
  return out.join('/');
};
const path = module.exports = {
  sep: '/', delimiter: ':',
  normalize(p) {
    const rooted = p.startsWith('/');
    let out = normal(p.split('/'), rooted);
    if (!out && !rooted) out = '.';
    if (out && p.endsWith('/')) out += '/';
    return (rooted ? '/' : '') + out;
  },
  join(...parts) { const all = parts.filter(p => p !== '').join('/'); return all === '' ? '.' : path.normalize(all); },
  resolve(...parts) {
    let at = '';
    for (let i = parts.length - 1; i >= 0 && !at.startsWith('/'); i--) if (parts[i]) at = parts[i] + (at ? '/' + at : '');
    return '/' + normal(at.split('/'), true);
  },
  isAbsolute: p => p.startsWith('/'),
  dirname(p) {
    const end = p.replace(/\/+$/, '').lastIndexOf('/');
    return end < 0 ? (p.startsWith('/') ? '/' : '.') : end === 0 ? '/' : p.slice(0, end);
  },
  basename(p, ext) {
    const name = p.replace(/\/+$/, '').split('/').pop();
    return ext && name !== ext && name.endsWith(ext) ? name.slice(0, -ext.length) : name;
  },
  extname(p) { const name = path.basename(p), at = name.lastIndexOf('.'); return at <= 0 ? '' : name.slice(at); },
  relative(from, to) {
    const a = path.resolve(from).split('/').filter(Boolean), b = path.resolve(to).split('/').filter(Boolean);
    let n = 0;
    while (n < a.length && n < b.length && a[n] === b[n]) n++;
    return [...Array(a.length - n).fill('..'), ...b.slice(n)].join('/');
  },
  parse(p) {
    const base = path.basename(p), ext = path.extname(p);
    return {root: p.startsWith('/') ? '/' : '', dir: path.dirname(p) === '.' && !p.startsWith('.') ? '' : path.dirname(p), base, ext, name: ext ? base.slice(0, -ext.length) : base};
  },
  format: o => (o.dir ? o.dir + '/' : o.root || '') + (o.base || (o.name || '') + (o.ext || '')),
};
path.posix = path;
path.win32 = path;
