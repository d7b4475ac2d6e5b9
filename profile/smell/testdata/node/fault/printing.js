'use strict';

module.exports = function handle(req, res) { // smell: printing
  console.log('request', req.headers);
  res.end('ok');
};
