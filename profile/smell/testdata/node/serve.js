'use strict';

// Serves the handler of a script until standard input ends. GET /profile?ms=N gives a
// profile of so much of its own CPU time, however long a busy machine takes for it (twenty
// seconds at most), and in a header how much CPU it used meanwhile.
const http = require('node:http');
const inspector = require('node:inspector');

const handle = require(process.argv[2]);
const session = new inspector.Session();
session.connect();

function profile(res, microseconds) {
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 1000 });
  session.post('Profiler.start', () => {
    const before = process.cpuUsage();
    const began = Date.now();
    const look = setInterval(() => {
      const { user, system } = process.cpuUsage(before);
      if (user + system < microseconds && Date.now() - began < 20e3) return;
      clearInterval(look);
      session.post('Profiler.stop', (err, { profile }) => {
        res.setHeader('x-cpu-us', user + system);
        res.end(JSON.stringify(profile));
      });
    }, 20);
  });
}

const server = http.createServer((req, res) => (req.url.startsWith('/profile?ms=') ? profile(res, 1000 * req.url.slice(12)) : handle(req, res)));
server.keepAliveTimeout = 0; // a blocked loop would close what waits for it
server.listen(0, '127.0.0.1', () => process.stdout.write(`127.0.0.1:${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
