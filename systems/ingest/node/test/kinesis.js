'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { KinesisClient, CreateStreamCommand, GetRecordsCommand, GetShardIteratorCommand } = require('@aws-sdk/client-kinesis');
const { NodeHttpHandler } = require('@smithy/node-http-handler');
const { startDouble } = require('./double');

function ferrokinesis() {
  const places = [process.env.FERROKINESIS, 'ferrokinesis', path.join(os.homedir(), '.cargo', 'bin', 'ferrokinesis')];
  return places.find((p) => p && spawnSync(p, ['--help']).status === 0);
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

// startKinesis gives a Kinesis API with a stream: {url, records(), close()}. It
// is ferrokinesis where that is installed, and a double otherwise.
async function startKinesis(stream) {
  const program = ferrokinesis();
  if (!program) {
    const double = await startDouble();
    return { url: double.url, records: async () => double.kept.map((r) => r.data), close: double.close };
  }
  const port = await freePort();
  const child = spawn(program, ['--port', String(port), '--create-stream-ms', '0', '--log-level', 'off'], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const client = new KinesisClient({
    endpoint: url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: new NodeHttpHandler(),
  });
  for (;;) {
    if (child.exitCode !== null) {
      throw new Error('ferrokinesis ended');
    }
    try {
      await client.send(new CreateStreamCommand({ StreamName: stream, ShardCount: 1 }));
      break;
    } catch (err) {
      if (err.$metadata?.httpStatusCode !== undefined) {
        throw err;
      }
      await sleep(20);
    }
  }
  return {
    url,
    async records() {
      const { ShardIterator } = await client.send(
        new GetShardIteratorCommand({ StreamName: stream, ShardId: 'shardId-000000000000', ShardIteratorType: 'TRIM_HORIZON' }),
      );
      const { Records } = await client.send(new GetRecordsCommand({ ShardIterator }));
      return Records.map((r) => Buffer.from(r.Data));
    },
    close() {
      client.destroy();
      child.kill();
    },
  };
}

module.exports = { startKinesis };
