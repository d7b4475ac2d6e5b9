'use strict';
const path = require('node:path');
const carved = path.join(__dirname, '../../../../../systems/count/carved/node_modules/');
const protobuf = require(`${carved}protobufjs`);

const { root } = protobuf.parse(`syntax = "proto3";
message Item { string id = 1; repeated double values = 2; map<string, string> labels = 3; }
message Items { repeated Item items = 1; }`);
const Items = root.lookupType('Items');
const sent = Items.encode({
  items: Array.from({ length: 50 }, (_, i) => ({ id: `item-${i}`, values: [i, i / 3, i / 7], labels: { state: 'FINISHED' } })),
}).finish();

module.exports = (req, res) => res.end(JSON.stringify(Items.decode(sent))); // smell: json-for-messages
