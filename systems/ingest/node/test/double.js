'use strict';

const { once } = require('node:events');
const http = require('node:http');

// startDouble responds to PutRecord and PutRecords as Kinesis does, as far as its
// client can see. next, where it is set, responds to one call instead: (req, res) =>
// void. refuse, where it is set, says whether a record of PutRecords is refused.
async function startDouble() {
  const kept = [];
  const double = { kept, next: null, refuse: null, calls: [] };
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
    const keep = ({ PartitionKey, Data }) => {
      const data = Buffer.from(Data, 'base64');
      if (double.refuse?.(data)) {
        return { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'from the double' };
      }
      kept.push({ key: PartitionKey, stream: call.StreamName, data });
      return { ShardId: 'shardId-000000000000', SequenceNumber: String(kept.length) };
    };
    double.calls.push(call.Records?.length ?? 1);
    const out = call.Records ? { Records: call.Records.map(keep) } : keep(call);
    res.writeHead(200, { 'Content-Type': 'application/x-amz-json-1.1' });
    res.end(JSON.stringify(out));
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
