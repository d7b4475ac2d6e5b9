// A server whose work is done by a worker thread and by libuv's pool. It ends with its input.
const http = require('node:http');
const { pbkdf2 } = require('node:crypto');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

if (!isMainThread) {
  parentPort.on('message', () => {
    let sum = 0;
    for (let i = 0; i < 2e6; i++) sum += Math.sqrt(i);
    parentPort.postMessage(sum);
  });
} else {
  const worker = new Worker(__filename);
  const server = http.createServer((req, res) => {
    if (req.url === '/pool') return pbkdf2('a', 'b', 2e4, 32, 'sha256', () => res.end());
    worker.once('message', () => res.end());
    worker.postMessage('');
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  process.stdin.on('end', () => process.exit()).resume();
}
