'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { after, before, beforeEach, describe, test } = require('node:test');
const { createServer } = require('../app');
const { maxBody, settings } = require('../settings');
const { openStream } = require('../stream');
const { startDouble } = require('./double');

describe('POST /import', () => {
  let double;
  let stream;
  let server;
  let url;
  before(async () => {
    double = await startDouble();
    Object.assign(process.env, {
      AWS_ENDPOINT_URL: double.url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
      AWS_MAX_ATTEMPTS: '1',
    });
    stream = openStream('clicks', { maxSockets: 4 });
    server = createServer(stream, { maxBody }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${server.address().port}/import`;
  });
  after(() => {
    server.close();
    server.closeAllConnections();
    stream.close();
    double.close();
  });
  beforeEach((t) => {
    double.next = null;
    double.kept.length = 0;
    t.mock.method(console, 'error', () => {});
  });

  const post = (body, to = url) => fetch(to, { method: 'POST', body });

  test('puts the body as it is, and responds with its place', async () => {
    const body = Buffer.from([0, 255, 10, 123]);
    const res = await post(body);
    assert.equal(res.status, 200);
    assert.deepEqual(await res.json(), { ShardId: 'shardId-000000000000', SequenceNumber: '1' });
    assert.deepEqual(double.kept[0].data, body);
    assert.equal(double.kept[0].stream, 'clicks');
    assert.match(double.kept[0].key, /^[0-9a-f-]{36}$/);
  });

  test('keeps at most maxSockets connections to Kinesis', async () => {
    double.connections.clear();
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => post(String(i))));
    assert.ok(all.every((res) => res.status === 200));
    assert.equal(new Set(double.kept.map((r) => String(r.data))).size, 50);
    assert.ok(double.connections.size <= 4, `${double.connections.size} new connections`);
  });

  for (const [status, kind, want] of [
    [400, 'ProvisionedThroughputExceededException', 503],
    [500, 'InternalFailure', 503],
    [400, 'ValidationException', 400],
    [400, 'ResourceNotFoundException', 500],
    [403, 'AccessDeniedException', 500],
  ]) {
    test(`responds ${want} to Kinesis' ${kind}`, async () => {
      double.fail(status, kind);
      const res = await post('x');
      assert.equal(res.status, want);
      assert.equal(res.headers.get('retry-after'), want === 503 ? '1' : null);
      assert.ok((await res.json()).error);
    });
  }

  test('responds with 503 where Kinesis hangs up', async () => {
    double.next = (req) => req.socket.destroy();
    assert.equal((await post('x')).status, 503);
  });

  test('refuses other routes and methods', async () => {
    assert.equal((await post('x', url.replace('import', 'elsewhere'))).status, 404);
    const res = await fetch(url);
    assert.equal(res.status, 405);
    assert.equal(res.headers.get('allow'), 'POST');
    assert.equal(double.kept.length, 0);
  });

  test('refuses what no record can hold, said beforehand or not', async () => {
    assert.equal((await post(Buffer.alloc(maxBody))).status, 200);
    const req = http.request(url, { method: 'POST', headers: { 'Content-Length': maxBody + 1 } });
    req.on('error', () => {});
    req.flushHeaders();
    const [res] = await once(req, 'response');
    assert.equal(res.statusCode, 413);
    req.destroy();
    const chunked = http.request(url, { method: 'POST', headers: { 'Transfer-Encoding': 'chunked' } });
    chunked.on('error', () => {});
    chunked.write(Buffer.alloc(maxBody + 1));
    const [late] = await once(chunked, 'response');
    assert.equal(late.statusCode, 413);
    assert.equal(late.headers.connection, 'close');
    chunked.destroy();
  });
});

test('settings say what is wrong', () => {
  const env = { KINESIS_STREAM: 's', AWS_REGION: 'r' };
  assert.equal(settings(env).port, 3000);
  assert.equal(settings({ STREAM_NAME: 't', AWS_REGION: 'r' }).stream, 't');
  assert.equal(settings({ ...env, PORT: '0', WORKERS: '2' }).workers, 2);
  assert.equal(settings(env).putRecords, false);
  assert.equal(settings({ ...env, KINESIS_CALL: 'PutRecords' }).putRecords, true);
  assert.throws(() => settings({ ...env, KINESIS_CALL: 'putrecords' }), /KINESIS_CALL is/);
  assert.throws(() => settings({ AWS_REGION: 'r' }), /KINESIS_STREAM is not set/);
  assert.throws(() => settings({ KINESIS_STREAM: 's' }), /AWS_REGION is not set/);
  for (const bad of ['x', '-1', '65536', '1e3', '3000 ']) {
    assert.throws(() => settings({ ...env, PORT: bad }), /PORT is/);
  }
});
