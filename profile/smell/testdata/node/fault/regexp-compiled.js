'use strict';

module.exports = function handle(req, res) {
  let found = 0;
  for (let i = 0; i < 200; i++) {
    const word = new RegExp(`^/(work|w${i}${Math.random()})(?:/(\\d{1,8}))?$`); // smell: regexp-compiled
    found += Number(word.test(req.url));
  }
  res.end(String(found));
};
