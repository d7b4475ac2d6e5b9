class StringDecoder {
  constructor(encoding) { this.encoding = encoding || 'utf8'; this.rest = Buffer.alloc(0); }
  write(b) { return Buffer.from(b).toString(this.encoding); }
  end(b) { return b ? this.write(b) : ''; }
}
module.exports = {StringDecoder};
