// One mistake each, by the smell's name; after a "_" stands which form of it. The line
// that is to be named ends in "// smell: NAME".
const { execFileSync } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const util = require('util');
const zlib = require('zlib');
const ejs = require('ejs');
const { Items, items, text, key, pem, names, page, shared, upstream } = require('./given');

const sentence = /^(\w+\s?)*$/;

exports['sync-crypto'] = () => {
  const derived = crypto.pbkdf2Sync('secret', 'salt', 2000, 32, 'sha256'); // smell: sync-crypto
  return derived.toString('hex');
};

exports['sync-crypto_sign'] = () => {
  const sign = crypto.createSign('sha256').update('order');
  return sign.sign(key, 'hex'); // smell: sync-crypto_sign
};

exports['sync-crypto_random'] = () => {
  const pad = crypto.randomBytes(1 << 20); // smell: sync-crypto_random
  return pad.toString('hex', 0, 8);
};

exports['key-parsed'] = () => {
  let size = 0;
  for (let i = 0; i < 10; i++) {
    size += crypto.createPrivateKey(pem).asymmetricKeyDetails.modulusLength; // smell: key-parsed
  }
  return String(size);
};

exports['sync-call'] = () => {
  let size = 0;
  for (let i = 0; i < 20; i++) {
    size += fs.readFileSync(__filename).length; // smell: sync-call
  }
  return String(size);
};

exports['sync-call_zlib'] = () => {
  const packed = zlib.gzipSync(text); // smell: sync-call_zlib
  return String(packed.length);
};

exports['sync-call_program'] = () => {
  const said = execFileSync('/bin/echo', ['well']); // smell: sync-call_program
  return said.toString();
};

exports['printing'] = () => {
  for (let i = 0; i < 10; i++) {
    console.error('step', i, { of: text.length, names: ['a', 'b'] }); // smell: printing
  }
  return 'ok';
};

exports['formatting'] = () => {
  let size = 0;
  for (let i = 0; i < 50; i++) {
    size += util.inspect({ i, names: ['a', 'b'], inner: { deep: { deeper: 1 } } }).length; // smell: formatting
  }
  return String(size);
};

exports['locale-formatter'] = () => {
  let last = '';
  for (let i = 0; i < 20; i++) {
    last = new Date(i * 1e9).toLocaleString('de-DE', { timeZone: 'Europe/Berlin' }); // smell: locale-formatter
  }
  return last;
};

exports['connection-churn'] = () => new Promise((done, failed) => {
  const asked = http.get({ ...upstream(), agent: false }, response => { // smell: connection-churn
    response.resume().on('end', () => done('ok'));
  });
  asked.on('error', failed);
});

exports['regexp-compiled'] = () => {
  let found = 0;
  for (let i = 0; i < 200; i++) {
    const word = new RegExp(`^/(work|w${i}${Math.random()})(?:/(\\d{1,8}))?$`); // smell: regexp-compiled
    found += Number(word.test('/work/17'));
  }
  return String(found);
};

exports['regexp-backtracking'] = () => {
  const whole = sentence.test(`${'a'.repeat(20)}!`); // smell: regexp-backtracking
  return String(whole);
};

exports['template-compiled'] = () => {
  let last = '';
  for (let i = 0; i < 10; i++) {
    last = ejs.render(page, { names }); // smell: template-compiled
  }
  return last;
};

exports['atomics-wait'] = () => {
  const woken = Atomics.wait(shared, 0, 0, 60); // smell: atomics-wait
  return woken;
};

exports['json-for-messages'] = () => {
  const message = Items.decode(items);
  let size = 0;
  for (let subscriber = 0; subscriber < 4; subscriber++) {
    size += JSON.stringify(message).length; // smell: json-for-messages
  }
  return String(size);
};

exports['gc-pressure'] = function grow() { // smell: gc-pressure
  let kept = null;
  for (let i = 0; i < 60000; i++) {
    kept = { left: kept, name: [i, i + 1, { i }] };
  }
  return String(kept.name[0]);
};

exports['event-loop-blocked'] = function sum() { // smell: event-loop-blocked
  let all = 0;
  for (let i = 0; i < 2e7; i++) {
    all += Math.round(Math.random() * 100);
  }
  return String(all);
};
