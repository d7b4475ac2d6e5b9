'use strict';

// Express keeps a client's faults out of the log then.
process.env.NODE_ENV = 'test';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { spawn } = require('node:child_process');
const path = require('node:path');
const { after, before, describe, test } = require('node:test');
const { createApp } = require('../app');
const { address, hostPort } = require('../../listen');

describe('the application', () => {
  let server;
  let url;
  before(async () => {
    server = createApp().listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://${hostPort(server.address())}`;
  });
  after(() => server.close());

  const count = (body) =>
    fetch(`${url}/Count`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body,
    });

  test('greets', async () => {
    const res = await fetch(url);
    assert.equal(res.status, 200);
    assert.equal(await res.text(), 'Hello World!');
  });

  test('counts in the text that its clients read', async () => {
    const res = await count('{"times": 100000}');
    assert.equal(res.status, 200);
    assert.equal(res.headers.get('content-type'), 'text/html; charset=utf-8');
    const [, sum] = /^Counted to (\d+) \n$/.exec(await res.text());
    // Eight standard errors of the mean of 100,000 draws.
    assert.ok(Math.abs(Number(sum) - 5_000_000) < 8 * Math.sqrt(833.5 * 100_000), sum);
  });

  for (const body of ['{"times": 0}', '{"times": -5}', '{}', '{"times": "x"}']) {
    test(`counts to 0 for ${body}`, async () => {
      assert.equal(await (await count(body)).text(), 'Counted to 0 \n');
    });
  }

  test('refuses what is not JSON', async () => {
    assert.equal((await count('{')).status, 400);
  });
});

test('address prefers flags, then the environment, then 127.0.0.1:3000', () => {
  assert.deepEqual(address([], {}), { port: 3000, host: '127.0.0.1' });
  assert.deepEqual(address([], { PORT: '0', HOST: '::1' }), { port: 0, host: '::1' });
  assert.deepEqual(address(['--port', '81', '--host', 'h'], { PORT: '82' }), { port: 81, host: 'h' });
  for (const port of ['x', '-1', '65536', '1.5']) {
    assert.throws(() => address([`--port=${port}`], {}), /is not a number from 0 to 65535/);
  }
});

test('the process says where it listens and ends on SIGTERM', async () => {
  const child = spawn(process.execPath, [path.join(__dirname, '..', 'server.js')], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const [, where] = /^listening public=(127\.0\.0\.1:\d+)\n$/.exec(line);
  assert.equal((await fetch(`http://${where}`)).status, 200);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
