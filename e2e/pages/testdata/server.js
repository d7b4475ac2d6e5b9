'use strict';

// An application whose count takes the CPU. The monolith's, at port 3000, is slow besides, and
// the candidate's, at 8090, writes one user's name in another way.
const express = require('express');
const { writeFileSync } = require('node:fs');

const port = Number(process.env.PORT || 3000);
const app = express();
app.use(express.json());
app.disable('etag');
app.get('/', (req, res) => res.send('Hello World!'));
app.get('/items/:id', (req, res) => res.json({ id: req.params.id, price: 12.5 }));
app.get('/users/:id', (req, res) => {
  const name = `u${req.params.id}`;
  res.json({ id: req.params.id, name: port === 8090 && name === 'u7' ? 'U7' : name });
});
app.post('/orders', (req, res) => res.status(201).end());
app.post('/Count', (req, res) => {
  let sum = 0;
  for (let i = 0; i < req.body.times; i++) {
    sum += Math.round(Math.random() * 100);
  }
  setTimeout(() => res.send(`Counted to ${sum} \n`), port === 3000 ? 20 : 0);
});
app.listen(port, '127.0.0.1', () => {
  if (port === 3000) {
    writeFileSync('server.pid', `${process.pid}\n`);
  }
});
