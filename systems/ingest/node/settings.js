'use strict';

const os = require('node:os');

// A Kinesis record is at most 1 MiB with its partition key, a UUID here.
const maxBody = 1024 * 1024 - 36;

function integer(env, name, fallback, low, high) {
  const text = env[name] || String(fallback);
  const n = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(n >= low && n <= high)) {
    throw new Error(`${name} is ${JSON.stringify(text)}, not a number from ${low} to ${high}`);
  }
  return n;
}

// call is how events get to Kinesis.
function call(env) {
  const name = env.KINESIS_CALL || 'PutRecord';
  if (name !== 'PutRecord' && name !== 'PutRecords') {
    throw new Error(`KINESIS_CALL is ${JSON.stringify(name)}, neither PutRecord nor PutRecords`);
  }
  return name;
}

// settings reads what the server needs from the environment. Port, stream and keys
// have the names that the ingest binary reads, so that one .env serves both. The AWS
// SDK reads AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL
// itself.
function settings(env) {
  const stream = env.KINESIS_STREAM || env.STREAM_NAME;
  if (!stream) {
    throw new Error('KINESIS_STREAM is not set: see .env.example');
  }
  if (!env.AWS_REGION) {
    throw new Error('AWS_REGION is not set: see .env.example');
  }
  return {
    stream,
    host: env.HOST || '127.0.0.1',
    port: integer(env, 'PORT', 3000, 0, 65535),
    workers: integer(env, 'WORKERS', os.availableParallelism(), 1, 1024),
    putRecords: call(env) === 'PutRecords',
    maxSockets: integer(env, 'MAX_SOCKETS', 128, 1, 10_000),
    drainMs: integer(env, 'DRAIN_MS', 10_000, 0, 600_000),
    maxBody,
  };
}

module.exports = { settings, maxBody };
