// A dispatch of its own, and few keys, of letters alone: nobody outside knows that
// /users/anna and /users/bernd are one endpoint.
const http = require('http');
const start = require('../start');

const rounds = process.env.PLANTED ? 600_000 : 20;

function cart(name) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    sum = (sum * 31 + i + name.length) % 1_000_003; // planted
  }
  return String(sum);
}

start(http.createServer((req, res) => {
  const user = /^\/users\/(\w+)\/cart$/.exec(req.url);
  res.end(user ? cart(user[1]) : 'ok');
}).listen(0, '127.0.0.1'));
