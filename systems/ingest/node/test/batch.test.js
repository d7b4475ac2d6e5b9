'use strict';

const assert = require('node:assert/strict');
const { after, before, beforeEach, describe, test } = require('node:test');
const { openBatch } = require('../batch');
const { openStream } = require('../stream');
const { startDouble } = require('./double');

const record = (text) => ({ PartitionKey: 'k', Data: Buffer.from(text) });

// api gives a send whose calls end when the test says so.
function api() {
  const calls = [];
  const send = (records) =>
    new Promise((resolve, reject) => {
      const texts = records.map((r) => String(r.Data));
      calls.push({ texts, reject, end: () => resolve(texts.map((t) => ({ ShardId: 's', SequenceNumber: t }))) });
    });
  return { calls, send };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('records that wait', () => {
  test('go together in the next call, each with its own result', async () => {
    const { calls, send } = api();
    const put = openBatch(send, { calls: 1 });
    const all = ['a', 'b', 'c'].map((t) => put(record(t)));
    assert.deepEqual(calls.map((c) => c.texts), [['a']]);
    calls[0].end();
    await all[0];
    await turn();
    assert.deepEqual(calls.map((c) => c.texts), [['a'], ['b', 'c']]);
    calls[1].end();
    assert.deepEqual((await Promise.all(all)).map((r) => r.SequenceNumber), ['a', 'b', 'c']);
  });

  test('do not wait for longer than that where more calls may be made', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { calls, send } = api();
    const put = openBatch(send, { calls: 2, linger: 5 });
    const all = ['a', 'b'].map((x) => put(record(x)));
    t.mock.timers.tick(3);
    all.push(put(record('c')));
    assert.deepEqual(calls.map((c) => c.texts), [['a']]);
    t.mock.timers.tick(2);
    assert.deepEqual(calls.map((c) => c.texts), [['a'], ['b', 'c']]);
    all.push(put(record('d')));
    t.mock.timers.tick(100);
    assert.equal(calls.length, 2);
    calls[1].end();
    await all[2];
    await turn();
    calls[0].end();
    calls[2].end();
    await Promise.all(all);
    assert.deepEqual(calls[2].texts, ['d']);
  });

  test('go in calls of at most 500 records and 5 MiB', async () => {
    const { calls, send } = api();
    const put = openBatch(send, { calls: 1 });
    const all = [put(record('first'))];
    for (let i = 0; i < 501; i += 1) {
      all.push(put(record(String(i))));
    }
    const large = 'x'.repeat(1024 * 1024 - 36);
    for (let i = 0; i < 7; i += 1) {
      all.push(put(record(large)));
    }
    for (let i = 0; i < calls.length; i += 1) {
      calls[i].end();
      await turn();
      await turn();
    }
    await Promise.all(all);
    assert.deepEqual(calls.map((c) => c.texts.length), [1, 500, 5, 3]);
  });

  test('fail together where the call fails', async () => {
    const { calls, send } = api();
    const put = openBatch(send, { calls: 1 });
    const all = [put(record('a')), put(record('b'))];
    calls[0].reject(new Error('no call'));
    await assert.rejects(all[0], /no call/);
    await turn();
    calls[1].end();
    assert.equal((await all[1]).SequenceNumber, 'b');
  });
});

describe('PutRecords', () => {
  let double;
  let stream;
  before(async () => {
    double = await startDouble();
    Object.assign(process.env, { AWS_ENDPOINT_URL: double.url, AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_MAX_ATTEMPTS: '1' });
    stream = openStream('clicks', { maxSockets: 4, putRecords: true });
  });
  after(() => {
    stream.close();
    double.close();
  });
  beforeEach(() => {
    double.kept.length = 0;
    double.calls.length = 0;
    double.refuse = null;
  });

  test('keeps each body once, in fewer calls than there are bodies', async () => {
    const sent = Array.from({ length: 200 }, (_, i) => `{"event":${i}}`);
    const places = await Promise.all(sent.map((body) => stream.put(Buffer.from(body))));
    assert.deepEqual(double.kept.map((r) => String(r.data)).sort(), [...sent].sort());
    assert.equal(new Set(places.map((p) => p.SequenceNumber)).size, 200);
    places.forEach((p, i) => assert.equal(String(double.kept[p.SequenceNumber - 1].data), sent[i]));
    assert.ok(double.calls.length < 100, `${double.calls.length} calls`);
    assert.equal(Math.round(places.reduce((sum, p) => sum + 1 / p.Together, 0)), double.calls.length);
  });

  test('puts again what alone was refused, and gives it up after three times', async () => {
    const tries = {};
    double.refuse = (data) => {
      tries[data] = (tries[data] ?? 0) + 1;
      return String(data) === 'never' || (String(data) === 'later' && tries.later === 1);
    };
    const [good, later, never] = await Promise.allSettled(['good', 'later', 'never'].map((t) => stream.put(Buffer.from(t))));
    assert.equal(good.status, 'fulfilled');
    assert.equal(later.status, 'fulfilled');
    assert.equal(never.reason.name, 'ProvisionedThroughputExceededException');
    assert.deepEqual(tries, { good: 1, later: 2, never: 3 });
    assert.deepEqual(double.kept.map((r) => String(r.data)).sort(), ['good', 'later']);
  });
});
