'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs/promises');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { after, before, describe, test } = require('node:test');
const { startKinesis } = require('./kinesis');

const serverJs = path.join(__dirname, '..', 'server.js');

// start runs the server as a person would, and gives its address once it listens.
async function start(env, cwd) {
  const child = spawn(process.execPath, [serverJs], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const [, address] = /^listening public=(\S+)$/.exec(line) ?? [];
    if (address) {
      return { child, exited, url: `http://${address}/import` };
    }
  }
  throw new Error('it ended before it listened');
}

describe('the server on all cores', () => {
  let kinesis;
  let dir;
  before(async () => {
    kinesis = await startKinesis('clicks');
    dir = await fs.mkdtemp(path.join(os.tmpdir(), 'ingest-node-'));
    await fs.writeFile(
      path.join(dir, '.env'),
      `KINESIS_STREAM=clicks\nAWS_REGION=us-east-1\nAWS_ACCESS_KEY_ID=a\nAWS_SECRET_ACCESS_KEY=b\nAWS_ENDPOINT_URL=${kinesis.url}\nWORKERS=7\n`,
    );
  });
  after(async () => {
    kinesis.close();
    await fs.rm(dir, { recursive: true });
  });

  test('reads .env, keeps every event, and ends within its grace', { timeout: 60_000 }, async () => {
    const { child, exited, url } = await start({ WORKERS: '2' }, dir);
    try {
      const sent = Array.from({ length: 100 }, (_, i) => `{"event":${i}}`);
      const statuses = await Promise.all(
        sent.map(async (body) => (await fetch(url, { method: 'POST', body })).status),
      );
      assert.ok(statuses.every((status) => status === 200), statuses.join(' '));
      const kept = (await kinesis.records()).map(String).sort();
      assert.deepEqual(kept, sent.sort());
    } finally {
      child.kill('SIGTERM');
    }
    assert.deepEqual(await exited, [0, null]);
  });
});

test('settings that are missing end it with status 2', { timeout: 20_000 }, async () => {
  const child = spawn(process.execPath, [serverJs], { cwd: os.tmpdir(), env: { PATH: process.env.PATH }, stdio: 'ignore' });
  assert.deepEqual(await once(child, 'exit'), [2, null]);
});
