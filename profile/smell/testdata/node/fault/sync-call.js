'use strict';
const fs = require('node:fs');

module.exports = function handle(req, res) { // smell: sync-call
  res.end(fs.readFileSync(__filename));
};
