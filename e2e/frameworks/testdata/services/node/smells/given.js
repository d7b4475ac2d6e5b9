// What the mistakes and their twins work with.
const crypto = require('crypto');
const http = require('http');
const protobuf = require('protobufjs');

const { root } = protobuf.parse(`syntax = "proto3";
message Item { string id = 1; repeated double values = 2; map<string, string> labels = 3; }
message Items { repeated Item items = 1; }`);
exports.Items = root.lookupType('Items');
exports.items = exports.Items.encode({
  items: Array.from({ length: 50 }, (_, i) => ({ id: `item-${i}`, values: [i, i / 3, i / 7], labels: { state: 'FINISHED' } })),
}).finish();

exports.text = Buffer.alloc(100_000, 'what is carved is small, what stays is whole; ');
exports.key = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
exports.pem = exports.key.export({ type: 'pkcs8', format: 'pem' });
exports.names = Array.from({ length: 20 }, (_, i) => `name ${i}`);
exports.page = '<ul><% for (const name of names) { %><li><%= name %></li><% } %></ul>';
exports.shared = new Int32Array(new SharedArrayBuffer(4));
exports.kept = Array.from({ length: 1000 }, (_, i) => i);

const server = http.createServer((request, response) => response.end('ok')).listen(0, '127.0.0.1');
exports.upstream = () => ({ host: '127.0.0.1', port: server.address().port });
