// Files of the plan's folder, read only. Its root is what scripts see as /.
const {Buffer, view} = require('buffer');
const name = p => typeof p === 'object' && p && p.pathname ? p.pathname : String(p);
const error = (e, p) => { const text = String(e.message || e).replace(/^GoError: /, ''), out = new Error(text); out.code = /ENOENT/.test(text) ? 'ENOENT' : 'EACCES'; out.path = name(p); return out; };
const readFileSync = (p, o) => {
  let b;
  try { b = view(native.read(name(p))); } catch (e) { throw error(e, p); }
  const encoding = typeof o === 'string' ? o : o && o.encoding;
  return encoding ? b.toString(encoding) : b;
};
const statSync = (p, o) => {
  const s = native.stat(name(p));
  if (!s) { if (o && o.throwIfNoEntry === false) return undefined; throw error(new Error("ENOENT: no such file in the plan's folder: " + name(p)), p); }
  return {size: s.size, mtime: new Date(s.at), mtimeMs: s.at, isFile: () => !s.folder, isDirectory: () => s.folder, isSymbolicLink: () => false};
};
const readdirSync = p => { try { return native.list(name(p)); } catch (e) { throw error(e, p); } };
const existsSync = p => native.stat(name(p)) !== null;
const later = f => (...args) => {
  const done = args.pop();
  let v;
  try { v = f(...args); } catch (e) { return native.runMicrotask(() => done(e)); }
  native.runMicrotask(() => done(null, v));
};
const access = p => { statSync(p); };
const promised = f => async (...args) => f(...args);
const promises = {readFile: promised(readFileSync), stat: promised(statSync), readdir: promised(readdirSync), access: promised(access)};
const readOnly = what => () => { throw new Error('fs.' + what + " is not supported in whittle: scripts only read, and only in the plan's folder"); };
module.exports = {readFileSync, statSync, lstatSync: statSync, readdirSync, existsSync, accessSync: access, realpathSync: p => name(p), promises,
  readFile: later(readFileSync), stat: later(statSync), readdir: later(readdirSync), access: later(access), exists: (p, done) => native.runMicrotask(() => done(existsSync(p))),
  constants: {F_OK: 0, R_OK: 4, W_OK: 2}};
for (const w of ['writeFileSync', 'writeFile', 'appendFileSync', 'appendFile', 'mkdirSync', 'mkdir', 'unlinkSync', 'unlink', 'createWriteStream', 'createReadStream', 'openSync', 'open', 'rmSync', 'renameSync', 'watch', 'copyFileSync']) {
  module.exports[w] = readOnly(w);
}
for (const w of ['writeFile', 'appendFile', 'mkdir', 'unlink']) promises[w] = readOnly('promises.' + w);
