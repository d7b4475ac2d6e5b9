// Handlers of one line of source.
const express = require('express4');
const start = require('../start');
const rounds = process.env.PLANTED ? 300_000 : 20;
const app = express();

function spend(sum) {
  for (let i = 0; i < rounds; i++) {
    sum += Math.sqrt(i) * Math.sin(i); // planted
  }
  return sum;
}

app.get('/a', (req, res) => res.json({ a: 1 })); app.get('/b', (req, res) => res.json({ b: spend(2) })); app.get('/c', (req, res) => res.json({ c: 3 }));
start(app.listen(0, '127.0.0.1'));
