'use strict';

module.exports = function handle(req, res) { // smell: event-loop-blocked
  let sum = 0;
  for (let i = 0; i < 1e7; i++) {
    sum += Math.round(Math.random() * 100);
  }
  res.end(`${sum}\n`);
};
