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

// settings reads what the server needs from the environment. The AWS SDK reads
// AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL itself.
function settings(env) {
  for (const name of ['STREAM', 'AWS_REGION']) {
    if (!env[name]) {
      throw new Error(`${name} is not set: see .env.example`);
    }
  }
  return {
    stream: env.STREAM,
    host: env.HOST || '127.0.0.1',
    port: integer(env, 'PORT', 3000, 0, 65535),
    workers: integer(env, 'WORKERS', os.availableParallelism(), 1, 1024),
    maxSockets: integer(env, 'MAX_SOCKETS', 128, 1, 10_000),
    drainMs: integer(env, 'DRAIN_MS', 10_000, 0, 600_000),
    maxBody,
  };
}

module.exports = { settings, maxBody };
