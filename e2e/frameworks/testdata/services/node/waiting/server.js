// A worker that waits for its jobs in Atomics.wait, as those of pools do.
const http = require('http');
const { Worker } = require('worker_threads');
const start = require('../start');

const bell = new Int32Array(new SharedArrayBuffer(4));
const worker = new Worker(require.resolve('./convert.js'), { workerData: bell });
const waiting = new Map();
let last = 0;
worker.on('message', ({ id, sum }) => {
  waiting.get(id)(sum);
  waiting.delete(id);
});

const run = n => new Promise(resolve => {
  const id = ++last;
  waiting.set(id, resolve);
  worker.postMessage({ id, n });
  Atomics.add(bell, 0, 1);
  Atomics.notify(bell, 0);
});

const routes = {
  '/convert': async (req, res) => res.end(String(await run(3))),
  '/ping': (req, res) => res.end('pong'),
};
start(http.createServer((req, res) => routes[req.url](req, res)).listen(0, '127.0.0.1'));
process.once('exit', () => worker.terminate());
