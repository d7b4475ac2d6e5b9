'use strict';
const path = require('node:path');
const carved = path.join(__dirname, '../../../../../systems/count/carved/node_modules/');
const protobuf = require(`${carved}protobufjs`);

const { root } = protobuf.parse('syntax = "proto3"; message Item { string id = 1; repeated double values = 2; }');
const Item = root.lookupType('Item');

module.exports = function handle(req, res) {
  const sent = Item.encode({ id: req.url, values: [1, 2, 3, 4, 5, 6, 7, 8] }).finish();
  res.end(Buffer.from(Item.encode(Item.decode(sent)).finish()));
};
