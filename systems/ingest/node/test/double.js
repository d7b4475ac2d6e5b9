'use strict';

const { once } = require('node:events');
const http = require('node:http');

// startDouble responds to PutRecord as Kinesis does, as far as its client can see.
// next, where it is set, responds to one call instead: (req, res) => void.
async function startDouble() {
  const kept = [];
  const double = { kept, next: null };
  const server = http.createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) {
      chunks.push(chunk);
    }
    if (double.next !== null) {
      const { next } = double;
      next(req, res);
      return;
    }
    const call = JSON.parse(Buffer.concat(chunks));
    kept.push({ key: call.PartitionKey, stream: call.StreamName, data: Buffer.from(call.Data, 'base64') });
    res.writeHead(200, { 'Content-Type': 'application/x-amz-json-1.1' });
    res.end(JSON.stringify({ ShardId: 'shardId-000000000000', SequenceNumber: String(kept.length) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  double.url = `http://127.0.0.1:${server.address().port}`;
  double.connections = new Set();
  server.on('connection', (socket) => double.connections.add(socket));
  double.close = () => {
    server.closeAllConnections();
    server.close();
  };
  double.fail = (status, kind) => {
    double.next = (req, res) => {
      res.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1', 'X-Amzn-ErrorType': kind });
      res.end(JSON.stringify({ __type: kind, message: 'from the double' }));
    };
  };
  return double;
}

module.exports = { startDouble };
