'use strict';

module.exports = function handle(req, res) { // smell: gc-pressure
  let kept = null;
  for (let i = 0; i < 60000; i++) {
    kept = { left: kept, name: [i, i + 1, { i }] };
  }
  res.end(String(kept.name[0]));
};
