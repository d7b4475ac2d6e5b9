// A cluster of two workers. It ends with its input.
const cluster = require('node:cluster');

if (cluster.isPrimary) {
  cluster.setupPrimary({ inspectPort: 0 });
  for (let i = 0; i < 2; i++) cluster.fork();
  cluster.once('listening', (worker, address) => console.log(address.port));
  process.stdin.on('end', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
    process.exit();
  }).resume();
} else {
  require('node:http').createServer((req, res) => {
    let sum = 0;
    for (let i = 0; i < 1e6; i++) sum += Math.sqrt(i);
    res.end(String(sum));
  }).listen(0, '127.0.0.1');
}
