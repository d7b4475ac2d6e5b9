'use strict';
const crypto = require('node:crypto');

module.exports = (req, res) => {
  crypto.pbkdf2('secret', 'salt', 20, 32, 'sha256', (err, key) => res.end(key.toString('hex')));
};
