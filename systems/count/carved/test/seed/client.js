'use strict';

// The published application's way from the service's JSON to a sum, against a
// service that runs: node client.js CONTRACT URL TIMES. CONTRACT is a .proto
// file, the published one or today's. It prints what the published application
// would have put into its response, by JSON and by protobuf.
const protobuf = require('protobufjs');

const [contract, url, times] = process.argv.slice(2);
const root = protobuf.loadSync(contract);
const Times = root.lookupType('Times');
const Sum = root.lookupType('Sum');

function getSumBuffer(data) {
  const errMsg = Sum.verify(data);
  if (errMsg) {
    throw new Error(errMsg);
  }
  return Sum.encode(Sum.fromObject(data)).finish();
}

async function post(contentType, body) {
  const res = await fetch(`${url}/twirp/twirp.carved.Carved/Count`, {
    method: 'POST',
    headers: { 'Content-Type': contentType },
    body,
  });
  if (res.status !== 200) {
    throw new Error(`${res.status} ${await res.text()}`);
  }
  return Buffer.from(await res.arrayBuffer());
}

async function main() {
  const json = await post('application/json', JSON.stringify(Times.fromObject({ times: Number(times) })));
  const viaJSON = Sum.decode(getSumBuffer(JSON.parse(json)));
  const wire = await post('application/protobuf', Times.encode({ times: Number(times) }).finish());
  const viaProtobuf = Sum.decode(wire);
  console.log(`${viaJSON.Sum} ${viaProtobuf.Sum}`);
}

main().catch((err) => {
  console.error(err.message);
  process.exitCode = 1;
});
