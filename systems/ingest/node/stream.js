'use strict';

const { randomUUID } = require('node:crypto');
const http = require('node:http');
const https = require('node:https');
const { KinesisClient, PutRecordCommand, PutRecordsCommand } = require('@aws-sdk/client-kinesis');
const { NodeHttpHandler } = require('@smithy/node-http-handler');
const { openBatch } = require('./batch');

// openStream gives put(body), which resolves with where Kinesis keeps the
// record, and close(). Connections are kept alive: a handshake for each event
// would cost more than the event. Each record is a call of its own, as in the seed;
// with putRecords, those that wait go together.
function openStream(name, { maxSockets, putRecords = false }) {
  const agent = { keepAlive: true, maxSockets };
  const client = new KinesisClient({
    requestHandler: new NodeHttpHandler({
      httpAgent: new http.Agent(agent),
      httpsAgent: new https.Agent(agent),
      connectionTimeout: 3_000,
      requestTimeout: 10_000,
      throwOnRequestTimeout: true,
      socketAcquisitionWarningTimeout: 10_000,
    }),
  });
  const one = (record) => client.send(new PutRecordCommand({ StreamName: name, ...record }));
  const many = openBatch(async (records) => {
    const { Records } = await client.send(new PutRecordsCommand({ StreamName: name, Records: records }));
    return Records;
  });
  const send = putRecords ? many : one;
  return {
    async put(body) {
      const { ShardId, SequenceNumber, Together } = await send({ PartitionKey: randomUUID(), Data: body });
      return { ShardId, SequenceNumber, Together }; // Together is undefined where each is a call
    },
    close: () => client.destroy(),
  };
}

// statusOf translates a failure of Kinesis for the client: 503 where a later
// try may succeed, 500 where it will not before somebody mends the set-up.
function statusOf(err) {
  const status = err.$metadata?.httpStatusCode;
  if (err.name === 'ProvisionedThroughputExceededException' || err.name === 'LimitExceededException') {
    return 503;
  }
  if (err.name === 'ValidationException' || err.name === 'InvalidArgumentException') {
    return 400;
  }
  return status === undefined || status >= 500 ? 503 : 500; // without one: of a record in a call that went well
}

module.exports = { openStream, statusOf };
