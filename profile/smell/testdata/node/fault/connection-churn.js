'use strict';
const http = require('node:http');

const upstream = http.createServer((req, res) => res.end('ok')).listen(0, '127.0.0.1');

module.exports = function handle(req, res) {
  http.get({ port: upstream.address().port, host: '127.0.0.1', agent: false }, (response) => response.pipe(res)); // smell: connection-churn
};
