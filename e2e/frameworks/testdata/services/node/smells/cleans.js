// The twin of each mistake of faults.js: the same done as one would wish it done.
const { execFile } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const util = require('util');
const zlib = require('zlib');
const ejs = require('ejs');
const { Items, items, text, key, kept, names, page, shared, upstream } = require('./given');

const pbkdf2 = util.promisify(crypto.pbkdf2);
const sign = util.promisify(crypto.sign);
const gzip = util.promisify(zlib.gzip);
const run = util.promisify(execFile);
const agent = new http.Agent({ keepAlive: true });
const date = new Intl.DateTimeFormat('de-DE', { timeZone: 'Europe/Berlin' });
const sentence = /^\w+(?:\s\w+)*\s?$/;
const long = `${'word '.repeat(2000)}!`;
const rendered = ejs.compile(page);
const word = /^\/(work|w\d+)(?:\/(\d{1,8}))?$/;

exports['sync-crypto'] = async () => (await pbkdf2('secret', 'salt', 2000, 32, 'sha256')).toString('hex');

exports['sync-crypto_sign'] = async () => (await sign('sha256', Buffer.from('order'), key)).toString('hex');

exports['sync-crypto_random'] = () => {
  let ids = '';
  for (let i = 0; i < 50; i++) {
    ids += crypto.randomUUID();
  }
  return ids;
};

exports['key-parsed'] = () => {
  let size = 0;
  for (let i = 0; i < 1000; i++) {
    size += key.asymmetricKeyDetails.modulusLength;
  }
  return String(size);
};

exports['sync-call'] = async () => String((await fs.promises.readFile(__filename)).length);

exports['sync-call_zlib'] = async () => String((await gzip(text)).length);

exports['sync-call_program'] = async () => (await run('/bin/echo', ['well'])).stdout;

exports['printing'] = () => {
  let size = 0;
  for (let i = 0; i < 100; i++) {
    size += `step ${i} of ${text.length}`.length;
  }
  return String(size);
};

exports['formatting'] = () => {
  let size = 0;
  for (let i = 0; i < 50; i++) {
    size += JSON.stringify({ i, names: ['a', 'b'], inner: { deep: { deeper: 1 } } }).length;
  }
  return String(size);
};

exports['locale-formatter'] = () => {
  let last = '';
  for (let i = 0; i < 20; i++) {
    last = date.format(i * 1e9);
  }
  return last;
};

exports['connection-churn'] = () => new Promise((done, failed) => {
  const asked = http.get({ ...upstream(), agent }, response => {
    response.resume().on('end', () => done('ok'));
  });
  asked.on('error', failed);
});

exports['regexp-compiled'] = () => {
  let found = 0;
  for (let i = 0; i < 2000; i++) {
    found += Number(word.test(`/w${i}/17`));
  }
  return String(found);
};

exports['regexp-backtracking'] = () => {
  let whole = 0;
  for (let i = 0; i < 20; i++) {
    whole += Number(sentence.test(long));
  }
  return String(whole);
};

exports['template-compiled'] = () => {
  let last = '';
  for (let i = 0; i < 200; i++) {
    last = rendered({ names });
  }
  return last;
};

exports['atomics-wait'] = async () => (Atomics.waitAsync(shared, 0, 0, 60)).value;

exports['json-for-messages'] = () => Buffer.from(Items.encode(Items.decode(items)).finish());

exports['gc-pressure'] = () => {
  let sum = 0;
  for (let i = 0; i < 60000; i++) {
    sum += kept[i % kept.length] ^ i;
  }
  return String(sum);
};

exports['event-loop-blocked'] = async () => {
  let all = 0;
  for (let slice = 0; slice < 20; slice++) {
    for (let i = 0; i < 1e5; i++) {
      all += Math.round(Math.random() * 100);
    }
    await new Promise(setImmediate);
  }
  return String(all);
};
