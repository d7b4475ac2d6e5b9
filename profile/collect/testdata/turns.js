// Serves requests of several kinds to itself while marks.js notes its turns, and
// prints the marks, moments of which it knows whose they are, and what stop left.
'use strict';
const http = require('node:http');
const fs = require('node:fs');
const { performance } = require('node:perf_hooks');
const marks = eval(fs.readFileSync(process.argv[2], 'utf8'));

const moments = []; // [whose, when]
const at = whose => moments.push([whose, performance.now()]);
const later = () => new Promise(resolve => setImmediate(resolve));

const kinds = {
  '/sync': (req, res) => {
    at('GET /sync');
    res.end('x');
    at('GET /sync');
    process.nextTick(at, 'GET /sync');
  },
  '/promise': async (req, res) => {
    await null;
    at('GET /promise');
    for (let i = 0; i < 5; i++) await null;
    at('GET /promise');
    res.end('x');
    at('GET /promise');
  },
  '/after': async (req, res) => {
    res.end('x');
    for (let i = 0; i < 3; i++) await null;
    at('GET /after');
  },
  '/ticks': (req, res) => process.nextTick(() => {
    at('GET /ticks');
    res.end('x');
  }),
  '/later': async (req, res) => {
    at('GET /later');
    await later();
    at(''); // nobody can know it before the response ends
    res.end('x');
    at('GET /later');
  },
  '/body': (req, res) => {
    req.on('data', () => at('POST /body'));
    req.on('end', async () => {
      at('POST /body');
      await null;
      at('POST /body');
      res.end('x');
    });
  },
  '/broken': (req, res) => {
    at('GET /broken');
    req.on('aborted', () => waiting());
    started();
  },
};
let started, waiting;

const server = http.createServer((req, res) => kinds[req.url.split('?')[0]](req, res));
server.listen(0, '127.0.0.1', async () => {
  const { port } = server.address();
  const agent = new http.Agent({ keepAlive: true });
  const ask = (method, path, pieces = []) => new Promise((resolve, reject) => {
    const req = http.request({ port, host: '127.0.0.1', method, path, agent }, res => res.resume().on('end', resolve)).on('error', reject);
    const next = () => {
      if (!pieces.length) return req.end();
      req.write(pieces.shift());
      setImmediate(next);
    };
    next();
  });
  const own = () => [http.IncomingMessage.prototype, http.ServerResponse.prototype].map(p => ['emit', 'end'].filter(n => Object.hasOwn(p, n)));
  marks('test', 60_000);
  const patches = [own()];
  for (let i = 0; i < 3; i++) for (const path of ['/sync?q=1', '/promise', '/after', '/ticks']) await ask('GET', path);
  patches.push(own()); // none of these outlives its turn
  await Promise.all(['/sync', '/later', '/promise', '/later'].map(path => ask('GET', path)));
  await ask('POST', '/body', ['a', 'b', 'c']);
  patches.push(own());
  const begun = new Promise(resolve => { started = resolve; });
  const over = new Promise(resolve => { waiting = resolve; });
  const broken = http.get({ port, host: '127.0.0.1', path: '/broken' }).on('error', () => {});
  await begun;
  await later();
  broken.destroy();
  await over;
  const mine = globalThis[Symbol.for('whittle.marks')].get('test');
  await later();
  at('');
  const result = JSON.parse(mine.result());
  mine.stop();
  await later();
  patches.push(own());
  console.log(JSON.stringify({ result, moments: moments.map(([whose, when]) => [whose, when * 1e3 + result.offset]), patches, left: Symbol.for('whittle.marks') in globalThis }));
  agent.destroy();
  server.close();
});
