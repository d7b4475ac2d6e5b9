const { Worker } = require('node:worker_threads');
const express = require('express4');

const worker = new Worker(require.resolve('./render.js'));
const waiting = new Map();
let last = 0;
worker.on('message', ({ id, page }) => {
  waiting.get(id)(page);
  waiting.delete(id);
});
const render = name => new Promise(resolve => {
  waiting.set(++last, resolve);
  worker.postMessage({ id: last, name });
});

const app = express();
app.get('/pages/:name', async (req, res) => res.send(await render(req.params.name)));
app.get('/', (req, res) => res.send('shop'));
require('../start')(app.listen(0, '127.0.0.1'));
