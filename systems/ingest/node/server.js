'use strict';

const cluster = require('node:cluster');
const net = require('node:net');
require('dotenv').config({ quiet: true });
const { settings } = require('./settings');

// work is one core's part: a server of its own behind the port that all share.
function work(set) {
  const { createServer } = require('./app');
  const { openStream } = require('./stream');
  const stream = openStream(set.stream, set);
  const server = createServer(stream, set);
  server.on('error', (err) => {
    console.error(`listen: ${err.message}`);
    process.exit(3);
  });
  server.listen(set.port, set.host);

  let stopping = false;
  const stop = () => {
    if (stopping) {
      return;
    }
    stopping = true;
    // The stream goes last: an event that was read is put before the end.
    server.close(() => {
      stream.close();
      process.disconnect();
    });
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), set.drainMs).unref();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

// lead starts a worker for each core, and another one for each that dies.
function lead(set) {
  let stopping = false;
  let listening = 0;
  cluster.on('listening', (worker, { address, port }) => {
    worker.listened = true;
    listening += 1;
    if (listening === set.workers) {
      console.log(`listening public=${net.isIPv6(address) ? `[${address}]` : address}:${port}`);
    }
  });
  cluster.on('exit', (worker, code, signal) => {
    if (stopping) {
      return;
    }
    if (!worker.listened) {
      process.exitCode = code || 3; // it would not fare better a second time
      stop();
      return;
    }
    console.error(`worker ${worker.process.pid} ended (${signal || code}), starting another`);
    cluster.fork();
  });
  const stop = () => {
    stopping = true;
    for (const worker of Object.values(cluster.workers)) {
      worker.process.kill('SIGTERM');
    }
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  for (let i = 0; i < set.workers; i += 1) {
    cluster.fork();
  }
}

try {
  (cluster.isPrimary ? lead : work)(settings(process.env));
} catch (err) {
  console.error(err.message);
  process.exitCode = 2;
}
