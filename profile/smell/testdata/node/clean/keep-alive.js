'use strict';
const http = require('node:http');

const upstream = http.createServer((req, res) => res.end('ok')).listen(0, '127.0.0.1');
const agent = new http.Agent({ keepAlive: true });

module.exports = (req, res) => {
  http.get({ port: upstream.address().port, host: '127.0.0.1', agent }, (response) => response.pipe(res));
};
