const {Buffer, view, own} = require('buffer');
const bytes = (v, encoding) => own(typeof v === 'string' ? Buffer.from(v, encoding) : v instanceof ArrayBuffer ? new Uint8Array(v) : v);
const digester = finish => ({
  parts: [],
  update(v, encoding) { this.parts.push(view(bytes(v, encoding))); return this; },
  digest(encoding) {
    const out = view(finish(own(Buffer.concat(this.parts))));
    return encoding && encoding !== 'buffer' ? out.toString(encoding) : out;
  },
  copy() { const c = digester(finish); c.parts = this.parts.slice(); return c; },
});
const randomBytes = (n, done) => {
  const b = view(native.random(n));
  if (!done) return b;
  native.runMicrotask(() => done(null, b));
};
const randomUUID = () => {
  const b = view(native.random(16));
  b[6] = b[6] & 0x0f | 0x40;
  b[8] = b[8] & 0x3f | 0x80;
  const h = b.toString('hex');
  return h.slice(0, 8) + '-' + h.slice(8, 12) + '-' + h.slice(12, 16) + '-' + h.slice(16, 20) + '-' + h.slice(20);
};
const fill = a => {
  const b = new Uint8Array(a.buffer, a.byteOffset, a.byteLength), from = view(native.random(b.length));
  for (let i = 0; i < b.length; i++) b[i] = from[i];
  return a;
};
const randomInt = (low, high, done) => {
  if (typeof high === 'function') { done = high; high = undefined; }
  if (high === undefined) { high = low; low = 0; }
  if (!(high > low)) throw new RangeError('randomInt: ' + high + ' is not above ' + low);
  const v = low + Number(BigInt('0x' + view(native.random(8)).toString('hex')) % BigInt(high - low));
  if (!done) return v;
  native.runMicrotask(() => done(null, v));
};
module.exports = {
  randomBytes, randomUUID, randomInt, pseudoRandomBytes: randomBytes,
  randomFillSync: fill,
  randomFill: (a, done) => native.runMicrotask(() => done(null, fill(a))),
  createHash: name => { native.hash(name, new ArrayBuffer(0)); return digester(b => native.hash(name, b)); },
  createHmac: (name, key) => { const k = bytes(key); native.hash(name, new ArrayBuffer(0)); return digester(b => native.hmac(name, k, b)); },
  hash: (name, v, encoding = 'hex') => view(native.hash(name, bytes(v))).toString(encoding),
  getHashes: () => native.hashes(),
  timingSafeEqual: (a, b) => {
    if (a.length !== b.length) throw new RangeError('Input buffers must have the same byte length');
    return native.compare(own(a), own(b)) === 0;
  },
};
const getRandomValues = a => fill(a);
module.exports.getRandomValues = getRandomValues;
module.exports.webcrypto = {getRandomValues, randomUUID, subtle: absent('crypto.subtle')};
for (const name of ['createCipheriv', 'createDecipheriv', 'createSign', 'createVerify', 'pbkdf2', 'pbkdf2Sync', 'scrypt', 'scryptSync', 'sign', 'verify',
  'createPublicKey', 'createPrivateKey', 'generateKeyPairSync', 'publicEncrypt', 'privateDecrypt', 'createSecretKey', 'createECDH', 'createDiffieHellman']) {
  module.exports[name] = () => absent('crypto')[name]();
}
