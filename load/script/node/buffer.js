// Bytes as a Uint8Array that knows texts.
const view = buffer => Object.setPrototypeOf(new Uint8Array(buffer), Buffer.prototype);
const own = v => v.buffer.slice(v.byteOffset, v.byteOffset + v.byteLength);
class Buffer extends Uint8Array {
  static from(v, encoding, length) {
    if (typeof v === 'string') return view(native.encode(v, norm(encoding)));
    if (v instanceof ArrayBuffer) return Object.setPrototypeOf(new Uint8Array(v, encoding, length), Buffer.prototype);
    if (v && v.type === 'Buffer' && Array.isArray(v.data)) v = v.data;
    if (v && typeof v === 'object' && typeof v.length === 'number') {
      const out = Buffer.alloc(v.length);
      for (let i = 0; i < v.length; i++) out[i] = v[i];
      return out;
    }
    throw new TypeError('a text, a list of bytes or an ArrayBuffer is wanted here');
  }
  static alloc(n, fill, encoding) {
    if (!(n >= 0 && n <= 256 * 1024 * 1024)) throw new RangeError('a buffer of ' + n + ' bytes is not within 0 and 256 MiB');
    const out = view(new ArrayBuffer(n));
    if (fill !== undefined && n > 0) {
      const by = typeof fill === 'string' ? Buffer.from(fill, encoding) : [fill];
      for (let i = 0; i < n; i++) out[i] = by[i % by.length];
    }
    return out;
  }
  static allocUnsafe(n) { return Buffer.alloc(n); }
  static isBuffer(v) { return v instanceof Buffer; }
  static isEncoding(e) { return /^(utf-?8|hex|base64(url)?|latin1|binary|ascii|ucs-?2|utf-?16le)$/i.test(String(e)); }
  static byteLength(v, encoding) { return typeof v === 'string' ? Buffer.from(v, encoding).length : v.byteLength; }
  static concat(list, total) {
    if (total === undefined) total = list.reduce((n, b) => n + b.length, 0);
    const out = Buffer.alloc(total);
    let at = 0;
    for (const b of list) for (let i = 0; i < b.length && at < total; i++) out[at++] = b[i];
    return out;
  }
  static compare(a, b) { return native.compare(own(a), own(b)); }
  toString(encoding, from = 0, to = this.length) {
    const part = from === 0 && to >= this.length ? this : this.subarray(from, to);
    return native.decode(own(part), norm(encoding));
  }
  toJSON() { return {type: 'Buffer', data: Array.from(this)}; }
  equals(b) { return native.compare(own(this), own(b)) === 0; }
  compare(b) { return native.compare(own(this), own(b)); }
  slice(from, to) { return this.subarray(from, to); }
  subarray(from, to) { return Object.setPrototypeOf(super.subarray(from, to), Buffer.prototype); }
  write(text, at = 0) { const b = Buffer.from(text); let i = 0; for (; i < b.length && at + i < this.length; i++) this[at + i] = b[i]; return i; }
  copy(target, at = 0, from = 0, to = this.length) { let i = 0; for (; from + i < to && at + i < target.length; i++) target[at + i] = this[from + i]; return i; }
  indexOf(v, from) { return typeof v === 'number' ? super.indexOf(v, from) : this.toString('latin1').indexOf(Buffer.from(v).toString('latin1'), from); }
  includes(v, from) { return this.indexOf(v, from) >= 0; }
}
const data = b => new DataView(b.buffer, b.byteOffset, b.byteLength);
for (const [name, size, get, set] of [['UInt16', 2, 'getUint16', 'setUint16'], ['UInt32', 4, 'getUint32', 'setUint32'], ['Int16', 2, 'getInt16', 'setInt16'],
  ['Int32', 4, 'getInt32', 'setInt32'], ['Float', 4, 'getFloat32', 'setFloat32'], ['Double', 8, 'getFloat64', 'setFloat64'],
  ['BigInt64', 8, 'getBigInt64', 'setBigInt64'], ['BigUInt64', 8, 'getBigUint64', 'setBigUint64']]) {
  for (const [end, little] of [['LE', true], ['BE', false]]) {
    Buffer.prototype['read' + name + end] = function (at = 0) { return data(this)[get](at, little); };
    Buffer.prototype['write' + name + end] = function (v, at = 0) { data(this)[set](at, v, little); return at + size; };
  }
}
Object.assign(Buffer.prototype, {
  readUInt8(at = 0) { return this[at]; }, readInt8(at = 0) { return data(this).getInt8(at); },
  writeUInt8(v, at = 0) { this[at] = v; return at + 1; }, writeInt8(v, at = 0) { this[at] = v; return at + 1; },
});
const norm = e => e === undefined || e === null ? 'utf8' : String(e).toLowerCase();
Buffer.poolSize = 8192;
module.exports = {Buffer, SlowBuffer: Buffer, kMaxLength: 256 * 1024 * 1024, view, own, constants: {MAX_LENGTH: 256 * 1024 * 1024}};
