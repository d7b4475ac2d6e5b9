// Files of the plan's folder. Its root is what scripts see as /. What they write stays in
// memory, where they read it again.
const {Buffer, view} = require('buffer');
const {resolve} = require('path');
const name = p => typeof p === 'object' && p && p.pathname ? p.pathname : String(p);
const error = (e, p) => { const text = String(e.message || e).replace(/^GoError: /, ''), out = new Error(text); out.code = /ENOENT/.test(text) ? 'ENOENT' : 'EACCES'; out.path = name(p); return out; };
const most = 16 << 20, folders = new Set(), written = new Map();
let size = 0, told = false;
const at = p => resolve(name(p));
const drop = f => { size -= f.size; f.pieces = []; f.size = 0; };
const keep = (p, data, append) => {
  if (!told) { told = true; console.log('what scripts write to files (' + name(p) + ') is left out: it stays in memory'); }
  const b = typeof data === 'string' ? Buffer.from(data) : view(data);
  let f = written.get(at(p));
  if (!f) { f = {pieces: append && native.stat(name(p)) ? [view(native.read(name(p)))] : [], size: 0, at: Date.now()}; written.set(at(p), f); }
  if (!append) drop(f);
  f.at = Date.now();
  f.length = (append && f.length || 0) + b.length;
  if (size + b.length > most) { drop(f); f.lost = true; return; }
  f.pieces.push(b); f.size += b.length; size += b.length;
};
const readFileSync = (p, o) => {
  let b;
  const own = written.get(at(p));
  if (own && own.lost) throw new Error(name(p) + ': of what scripts write ' + most + ' bytes are kept, and this is beyond');
  if (own) b = Buffer.concat(own.pieces);
  else try { b = view(native.read(name(p))); } catch (e) { throw error(e, p); }
  const encoding = typeof o === 'string' ? o : o && o.encoding;
  return encoding ? b.toString(encoding) : b;
};
const statSync = (p, o) => {
  const own = written.get(at(p));
  if (own || folders.has(at(p))) return {size: own ? own.length : 0, mtime: new Date(own ? own.at : 0), mtimeMs: own ? own.at : 0, isFile: () => !!own, isDirectory: () => !own, isSymbolicLink: () => false};
  const s = native.stat(name(p));
  if (!s) { if (o && o.throwIfNoEntry === false) return undefined; throw error(new Error("ENOENT: no such file in the plan's folder: " + name(p)), p); }
  return {size: s.size, mtime: new Date(s.at), mtimeMs: s.at, isFile: () => !s.folder, isDirectory: () => s.folder, isSymbolicLink: () => false};
};
const readdirSync = p => {
  const own = [...written.keys(), ...folders].filter(f => f.slice(0, f.lastIndexOf('/')) === at(p).replace(/\/$/, '')).map(f => f.slice(f.lastIndexOf('/') + 1));
  let all = [];
  try { all = native.list(name(p)); } catch (e) { if (!own.length && !folders.has(at(p))) throw error(e, p); }
  return [...new Set([...all, ...own])].sort();
};
const existsSync = p => written.has(at(p)) || folders.has(at(p)) || native.stat(name(p)) !== null;
const writeFileSync = (p, data, o) => keep(p, data, !!o && /^a/.test(o.flag || ''));
const appendFileSync = (p, data) => keep(p, data, true);
const mkdirSync = p => { if (!existsSync(p)) folders.add(at(p)); };
const unlinkSync = p => {
  const own = written.get(at(p));
  if (!own) throw new Error('fs.unlinkSync is not supported in whittle for files that scripts have not written: ' + name(p));
  drop(own); written.delete(at(p));
};
const createWriteStream = (p, o) => {
  if (!o || !/^a/.test(o.flags || '')) keep(p, '', false);
  const s = {path: name(p), write(data, ...more) { keep(p, data, true); more.filter(f => typeof f === 'function').forEach(f => native.runMicrotask(f)); return true; },
    end(data, ...more) { if (data !== undefined && typeof data !== 'function') keep(p, data, true); [data, ...more].filter(f => typeof f === 'function').forEach(f => native.runMicrotask(f)); return s; },
    on: () => s, once: () => s, close() {}, destroy() {}};
  return s;
};
const later = f => (...args) => {
  const done = args.pop();
  let v;
  try { v = f(...args); } catch (e) { return native.runMicrotask(() => done(e)); }
  native.runMicrotask(() => done(null, v));
};
const access = p => { statSync(p); };
const promised = f => async (...args) => f(...args);
const promises = {readFile: promised(readFileSync), stat: promised(statSync), readdir: promised(readdirSync), access: promised(access), writeFile: promised(writeFileSync),
  appendFile: promised(appendFileSync), mkdir: promised(mkdirSync), unlink: promised(unlinkSync)};
const readOnly = what => () => { throw new Error('fs.' + what + " is not supported in whittle: scripts read files of the plan's folder"); };
module.exports = {readFileSync, statSync, lstatSync: statSync, readdirSync, existsSync, accessSync: access, realpathSync: p => name(p), promises,
  writeFileSync, appendFileSync, mkdirSync, unlinkSync, createWriteStream,
  readFile: later(readFileSync), stat: later(statSync), readdir: later(readdirSync), access: later(access), exists: (p, done) => native.runMicrotask(() => done(existsSync(p))),
  writeFile: later(writeFileSync), appendFile: later(appendFileSync), mkdir: later(mkdirSync), unlink: later(unlinkSync),
  constants: {F_OK: 0, R_OK: 4, W_OK: 2}};
for (const w of ['createReadStream', 'openSync', 'open', 'rmSync', 'renameSync', 'watch', 'copyFileSync']) {
  module.exports[w] = readOnly(w);
}
