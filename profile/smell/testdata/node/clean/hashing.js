'use strict';
const crypto = require('node:crypto');

const text = Buffer.alloc(4096, 'a');

module.exports = (req, res) => res.end(crypto.createHash('sha256').update(text).digest('hex'));
