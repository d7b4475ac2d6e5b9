'use strict';
const fs = require('node:fs');

module.exports = function handle(req, res) {
  res.end(fs.readFileSync(__filename)); // smell: sync-call
};
