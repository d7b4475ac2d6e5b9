const http = require('node:http');
const { resize } = require('./resize');

const server = http.createServer((req, res) => {
  const path = new URL(req.url, 'http://here').pathname;
  const send = body => {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify(body));
  };
  if (req.method === 'GET' && path === '/') return send('shop');
  if (req.method === 'GET' && /^\/pictures\/\d+$/.test(path)) return send({ id: path.slice(10) });
  if (req.method === 'POST' && /^\/pictures\/\d+\/resize$/.test(path)) {
    const pieces = [];
    req.on('data', piece => pieces.push(piece));
    req.on('end', () => send(resize(JSON.parse(Buffer.concat(pieces)))));
    return;
  }
  res.statusCode = 404;
  send('not here');
});
server.listen(0, '127.0.0.1');
require('../start')(server);
