'use strict';

const express = require('express');
const bodyParser = require('body-parser');

// createApp gives the application as it was before the carve. The count runs
// on the event loop, on purpose: this is the endpoint that is slow.
function createApp() {
  const app = express();
  app.use(bodyParser.json());
  app.use(express.json());

  app.get('/', (req, res) => {
    res.send('Hello World!');
  });

  app.post('/Count', (req, res) => {
    let sum = 0;
    const timesToIterate = req.body.times;
    for (var i = 1; i <= timesToIterate; i++) {
      sum += Math.round(Math.random() * 100);
    }
    res.send(`Counted to ${sum} \n`);
  });

  return app;
}

module.exports = { createApp };
