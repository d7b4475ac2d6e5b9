'use strict';

const express = require('express');
const bodyParser = require('body-parser');
const { ServiceError } = require('./service');

const maxTimes = 2 ** 31 - 1;

// draws says how often the loop of old went round: `for (i = 1; i <= times;
// i++)` takes anything that compares with a number and floors it.
function draws(times) {
  const n = Math.floor(Number(times));
  return n > 0 ? n : 0;
}

// createApp gives the application with its count carved out. count is
// times => Promise of the sum, which rejects with a ServiceError.
function createApp(count) {
  const app = express();
  app.use(bodyParser.json());
  app.use(express.json());

  app.get('/', (req, res) => {
    res.send('Hello World!');
  });

  app.post('/Count', async (req, res, next) => {
    try {
      const times = draws(req.body.times);
      if (times > maxTimes) {
        throw new ServiceError(400, `times is at most ${maxTimes}`);
      }
      res.send(`Counted to ${await count(times)} \n`);
    } catch (err) {
      next(err);
    }
  });

  app.use((err, req, res, next) => {
    if (!(err instanceof ServiceError) || res.headersSent) {
      next(err);
      return;
    }
    if (err.status >= 500) {
      console.error(`POST /Count: ${err.message}${err.cause ? `: ${err.cause.message}` : ''}`);
    }
    if (err.status === 503) {
      res.set('Retry-After', '1');
    }
    res.status(err.status).type('text/plain').send(`${err.message}\n`);
  });

  return app;
}

module.exports = { createApp, draws };
