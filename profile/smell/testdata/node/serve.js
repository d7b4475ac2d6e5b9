'use strict';

// Serves the handler of a script until standard input ends. GET /profile gives
// a second of its CPU profile, and in a header how much CPU it used meanwhile.
const http = require('node:http');
const inspector = require('node:inspector');

const handle = require(process.argv[2]);
const session = new inspector.Session();
session.connect();

function profile(res) {
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 1000 });
  session.post('Profiler.start', () => {
    const before = process.cpuUsage();
    setTimeout(() => {
      session.post('Profiler.stop', (err, { profile }) => {
        const used = process.cpuUsage(before);
        res.setHeader('x-cpu-us', used.user + used.system);
        res.end(JSON.stringify(profile));
      });
    }, 1000);
  });
}

const server = http.createServer((req, res) => (req.url === '/profile' ? profile(res) : handle(req, res)));
server.keepAliveTimeout = 0; // a blocked loop would close what waits for it
server.listen(0, '127.0.0.1', () => process.stdout.write(`127.0.0.1:${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
