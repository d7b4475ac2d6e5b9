'use strict';

const words = /[a-z]+/g;

module.exports = (req, res) => {
  const all = 'what is carved is small what stays is whole'.match(words);
  res.end(all.sort().join(' '));
};
