'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { describe, test } = require('node:test');
const protobuf = require('protobufjs');
const { createApp, draws } = require('../app');
const { connect } = require('../service');
const { hostPort } = require('../../listen');

const root = protobuf.loadSync(path.join(__dirname, '..', '..', 'count.proto'));
const Times = root.lookupType('twirp.carved.Times');
const Sum = root.lookupType('twirp.carved.Sum');

async function listen(t, server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections?.();
  });
  return `http://${hostPort(server.address())}/`;
}

// application starts the application before a service at url.
async function application(t, url, options = {}) {
  const service = connect({ url, ...options });
  t.after(service.close);
  const app = await listen(t, http.createServer(createApp(service.count)));
  return (body) =>
    fetch(`${app}Count`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
}

// serving is a service that responds to every call by handler.
async function serving(t, handler, options) {
  return application(t, await listen(t, http.createServer(handler)), options);
}

async function read(req) {
  const chunks = [];
  for await (const chunk of req) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function sends(res, sum) {
  res.setHeader('Content-Type', 'application/protobuf');
  res.end(Sum.encode(Sum.fromObject({ Sum: sum })).finish());
}

function fails(status, code) {
  return (req, res) => {
    res.writeHead(status, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ code, msg: 'so it is' }));
  };
}

test('draws as often as the loop of old', () => {
  for (const times of [0, 1, 7.9, '12', '0x10', ' 3 ', [5], true, null, undefined, -5, NaN, 'x', {}, [1, 2]]) {
    let n = 0;
    for (var i = 1; i <= times; i++) {
      n++;
    }
    assert.equal(draws(times), n, JSON.stringify(times));
  }
});

describe('the application', () => {
  test('responds in the old text format, and calls in protobuf', async (t) => {
    const asked = [];
    const post = await serving(t, async (req, res) => {
      asked.push([req.method, req.url, req.headers['content-type'], Times.decode(await read(req)).times]);
      sends(res, 214748364700);
    });
    const res = await post('{"times": 2147483647}');
    assert.equal(res.status, 200);
    assert.equal(res.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(await res.text(), 'Counted to 214748364700 \n');
    assert.deepEqual(asked, [['POST', '/twirp/twirp.carved.Carved/Count', 'application/protobuf', 2147483647]]);
  });

  test('counts to 0', async (t) => {
    const post = await serving(t, (req, res) => sends(res, 0));
    assert.equal(await (await post('{}')).text(), 'Counted to 0 \n');
  });

  test('keeps its connection', async (t) => {
    const server = http.createServer((req, res) => sends(res, 1));
    let connections = 0;
    server.on('connection', () => connections++);
    const post = await application(t, await listen(t, server));
    for (let i = 0; i < 5; i++) {
      assert.equal((await post('{"times": 1}')).status, 200);
    }
    assert.equal(connections, 1);
  });

  test('sends a call again that met a connection closed while idle', async (t) => {
    let calls = 0;
    const post = await serving(t, (req, res) => {
      calls++;
      if (calls === 2) {
        req.socket.destroy();
        return;
      }
      sends(res, 1);
    });
    await post('{"times": 1}');
    assert.equal((await post('{"times": 1}')).status, 200);
    assert.equal(calls, 3);
  });

  test('refuses what the contract cannot say', async (t) => {
    const post = await serving(t, () => assert.fail('the service is not asked'));
    const res = await post('{"times": 2147483648}');
    assert.equal(res.status, 400);
    assert.equal(await res.text(), 'times is at most 2147483647\n');
  });
});

describe('a service that', () => {
  const slow = { deadlineMs: 100 };
  for (const [name, handler, status, text, options] of [
    ['hangs', () => {}, 503, /took longer than 100 ms/, slow],
    [
      'drips',
      (req, res) => {
        res.setHeader('Content-Type', 'application/protobuf');
        const drip = setInterval(() => res.write('\0'), 10);
        res.on('close', () => clearInterval(drip));
      },
      503,
      /took longer than 100 ms/,
      slow,
    ],
    ['resets', (req) => req.socket.resetAndDestroy(), 503, /cannot be reached/],
    [
      'breaks off',
      (req, res) => {
        res.writeHead(200, { 'Content-Type': 'application/protobuf', 'Content-Length': 100 });
        res.write('abc', () => res.destroy());
      },
      503,
      /cannot be reached/,
    ],
    ['is a giant', (req, res) => res.end(Buffer.alloc(1 << 20)), 502, /more than a sum/],
    ['speaks HTML', (req, res) => res.end('<p>1</p>'), 502, /other than protobuf/],
    [
      'sends broken protobuf',
      (req, res) => {
        res.setHeader('Content-Type', 'application/protobuf');
        res.end(Buffer.from([0x08, 0xff]));
      },
      502,
      /other than a sum/,
    ],
    ['fails', fails(500, 'internal'), 502, /responded with 500 internal/],
    ['fails in HTML', (req, res) => res.writeHead(500).end('<p>'), 502, /responded with 500/],
    ['is busy', fails(429, 'resource_exhausted'), 503, /busy/],
    ['closes down', fails(503, 'unavailable'), 503, /busy/],
    ['refuses the input', fails(400, 'invalid_argument'), 400, /so it is/],
  ]) {
    test(`${name} is told as ${status}`, async (t) => {
      t.mock.method(console, 'error', () => {});
      const post = await serving(t, handler, options);
      const res = await post('{"times": 10}');
      assert.match(await res.text(), text);
      assert.equal(res.status, status);
      assert.equal(res.headers.get('retry-after'), status === 503 ? '1' : null);
      assert.equal(res.headers.get('content-type'), 'text/plain; charset=utf-8');
    });
  }

  test('is down is told as 503', async (t) => {
    t.mock.method(console, 'error', () => {});
    const server = net.createServer();
    const url = await listen(t, server);
    server.close();
    await once(server, 'close');
    const post = await application(t, url);
    assert.equal((await post('{"times": 1}')).status, 503);
  });

  test('was broken is found again when it is mended', async (t) => {
    t.mock.method(console, 'error', () => {});
    let broken = true;
    const post = await serving(t, (req, res) => (broken ? req.socket.destroy() : sends(res, 3)));
    assert.equal((await post('{"times": 1}')).status, 503);
    broken = false;
    assert.equal(await (await post('{"times": 1}')).text(), 'Counted to 3 \n');
  });

  test('does not speak HTTP is told as 502', async (t) => {
    t.mock.method(console, 'error', () => {});
    const server = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.end('what?\r\n\r\n');
    });
    const post = await application(t, await listen(t, server));
    assert.equal((await post('{"times": 1}')).status, 502);
  });
});
