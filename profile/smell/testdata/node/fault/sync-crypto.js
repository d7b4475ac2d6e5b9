'use strict';
const crypto = require('node:crypto');

module.exports = function handle(req, res) {
  res.end(crypto.pbkdf2Sync('secret', 'salt', 2000, 32, 'sha256').toString('hex')); // smell: sync-crypto
};
