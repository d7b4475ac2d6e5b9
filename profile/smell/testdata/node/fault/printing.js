'use strict';

module.exports = function handle(req, res) {
  console.log('request', req.headers); // smell: printing
  res.end('ok');
};
