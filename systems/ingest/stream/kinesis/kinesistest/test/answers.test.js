'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { test } = require('node:test');

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

test('kinesis-local runs on this Node.js', { timeout: 30_000 }, async () => {
  const [plain, tls] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, ['main.js'], {
    cwd: path.dirname(require.resolve('kinesis-local')),
    env: { ...process.env, KINESIS_MOCK_PLAIN_PORT: String(plain), KINESIS_MOCK_TLS_PORT: String(tls) },
    stdio: 'ignore',
  });
  try {
    for (;;) {
      assert.equal(child.exitCode, null, 'it ended');
      const res = await fetch(`http://127.0.0.1:${plain}/`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/x-amz-json-1.1',
          'X-Amz-Target': 'Kinesis_20131202.ListStreams',
          'X-Amz-Date': '20260101T000000Z',
          Authorization: 'AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/kinesis/aws4_request, SignedHeaders=host, Signature=b',
        },
        body: '{}',
      }).catch(() => null);
      if (res === null) {
        await sleep(50);
        continue;
      }
      assert.equal(res.status, 200);
      assert.deepEqual((await res.json()).StreamNames, []);
      return;
    }
  } finally {
    child.kill();
    await once(child, 'exit');
  }
});
