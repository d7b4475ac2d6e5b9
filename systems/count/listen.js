'use strict';

const net = require('node:net');
const { parseArgs } = require('node:util');

// address reads --port and --host, or PORT and HOST, in this order. Port 0
// takes a free one.
function address(args, env) {
  const { values } = parseArgs({
    args,
    options: { port: { type: 'string' }, host: { type: 'string' } },
  });
  const text = values.port ?? (env.PORT || '3000');
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(port <= 65535)) {
    throw new Error(`port ${JSON.stringify(text)} is not a number from 0 to 65535`);
  }
  return { port, host: values.host ?? (env.HOST || '127.0.0.1') };
}

// hostPort writes an address as a URL would have it.
function hostPort({ address, port }) {
  return `${net.isIPv6(address) ? `[${address}]` : address}:${port}`;
}

// serve runs app until SIGINT or SIGTERM. Once the port is open it writes one
// line to stdout, "listening public=HOST:PORT". On a signal, requests under way
// have drainMs to end.
function serve(app, { drainMs = 10_000 } = {}) {
  let where;
  try {
    where = address(process.argv.slice(2), process.env);
  } catch (err) {
    console.error(err.message);
    process.exitCode = 2;
    return;
  }
  const server = app.listen(where.port, where.host, () => {
    console.log(`listening public=${hostPort(server.address())}`);
  });
  server.on('error', (err) => {
    console.error(`listen: ${err.message}`);
    process.exitCode = 3;
  });
  const stop = () => {
    server.close();
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), drainMs).unref();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

module.exports = { address, hostPort, serve };
