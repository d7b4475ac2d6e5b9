'use strict';
const word = /^\/(work|play)(?:\/(\d{1,8}))?$/;

module.exports = function handle(req, res) {
  let found = 0;
  for (let i = 0; i < 2000; i++) {
    found += Number(word.test(req.url + i));
  }
  res.end(String(found));
};
