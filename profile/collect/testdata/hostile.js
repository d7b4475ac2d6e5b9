// Has marks.js note in applications that replaced or broke what it uses, and prints what
// each of them noticed of it.
'use strict';
const http = require('node:http');
const fs = require('node:fs');
const channels = require('node:diagnostics_channel');
const timers = require('node:timers');
const source = fs.readFileSync(process.argv[2], 'utf8');
const { setTimeout, setImmediate } = timers;
const { IncomingMessage, ServerResponse } = http;
const parents = [IncomingMessage, ServerResponse].map(c => Object.getPrototypeOf(c.prototype));

// Each breaks something, before the marks begin or while they note, and mends it.
const cases = {
  timers: () => {
    const own = globalThis.setTimeout;
    globalThis.setTimeout = () => 1; // as a browser's
    return () => { globalThis.setTimeout = own; };
  },
  frozenPrototypes: () => {
    const own = ServerResponse.prototype;
    class Frozen extends ServerResponse {}
    http.ServerResponse = Frozen;
    Object.freeze(Frozen.prototype);
    return () => { http.ServerResponse = own.constructor; };
  },
  sealedGlobal: () => {
    const own = Reflect.defineProperty;
    Reflect.defineProperty = () => false;
    return () => { Reflect.defineProperty = own; };
  },
  brokenTimer: () => {
    const own = timers.setInterval;
    timers.setInterval = () => { throw new Error('no timers'); };
    return () => { timers.setInterval = own; };
  },
  promises: { during: () => {
    const own = Promise.prototype.then;
    Promise.prototype.then = () => { throw new Error('no promises'); };
    return () => { Promise.prototype.then = own; };
  } },
  responses: { atOnce: true, during: () => {
    Object.defineProperty(ServerResponse.prototype, 'writableEnded', { get() { throw new Error('no state'); }, configurable: true });
    return () => { delete ServerResponse.prototype.writableEnded; };
  } },
  methods: { during: () => { // as a tracer that comes meanwhile
    const own = parents.map((p, i) => p[['emit', 'end'][i]]);
    let called = 0;
    parents[1].end = function (...all) {
      called++;
      return own[1].apply(this, all);
    };
    return () => {
      parents[1].end = own[1];
      if (!called) noticed.push('its method was passed over');
    };
  } },
  interrupt: { during: () => { // the inspector comes while a channel goes through its subscribers
    const own = String.prototype.indexOf;
    String.prototype.indexOf = function (...all) {
      globalThis[Symbol.for('whittle.marks')]?.get('interrupt')?.stop();
      return own.apply(this, all);
    };
    return () => { String.prototype.indexOf = own; };
  } },
  memory: { during: () => {
    const own = globalThis.Float64Array;
    globalThis.Float64Array = function () { throw new RangeError('Array buffer allocation failed'); };
    return () => { globalThis.Float64Array = own; };
  }, requests: 2500 },
};

let noticed = [], asked = 0;
process.on('uncaughtException', e => noticed.push(String(e)));
process.on('unhandledRejection', e => noticed.push('rejected: ' + e));

const server = http.createServer((req, res) => {
  if (req.method === 'POST') req.resume().on('end', () => res.end('x'));
  else setImmediate(() => res.end('x'));
});
const all = async () => {
  const agent = new http.Agent({ keepAlive: true });
  const ask = method => new Promise((resolve, reject) => {
    const req = http.request({ port: server.address().port, host: '127.0.0.1', path: '/?' + asked++, method, agent }, res => res.resume().on('end', resolve)).on('error', reject);
    if (method === 'POST') req.write('x');
    setImmediate(() => req.end());
  });
  const later = () => new Promise(resolve => setImmediate(resolve));
  const out = {};
  for (const [name, one] of Object.entries(cases)) {
    noticed = [];
    const mend = one.during ? undefined : one();
    try {
      (0, eval)(`require => ${source}`)(require)(name, 60_000);
    } catch (e) {
      // which whittle is told, and nobody else
    }
    mend?.();
    let repair = one.atOnce && one.during();
    await ask(one.atOnce ? 'GET' : 'POST');
    const names = parents.map((p, i) => ['emit', 'end'][i]).map((n, i) => {
      const f = [IncomingMessage, ServerResponse][i].prototype[n];
      return f.name + f.length;
    });
    if (!repair && String(names) !== 'emit1,end3') noticed.push('methods are called ' + names);
    repair ||= one.during?.();
    for (let i = 0; i < (one.requests ?? 2); i++) await ask(i % 2 ? 'GET' : 'POST');
    repair?.();
    globalThis[Symbol.for('whittle.marks')]?.get(name)?.stop();
    await later();
    if (Symbol.for('whittle.marks') in globalThis) noticed.push('it is left');
    for (const c of ['http.server.request.start', 'http.server.response.finish']) if (channels.hasSubscribers(c)) noticed.push(c + ' has a listener');
    if (Object.hasOwn(IncomingMessage.prototype, 'emit') || Object.hasOwn(ServerResponse.prototype, 'end')) noticed.push('a prototype is changed');
    out[name] = noticed;
  }
  console.log(JSON.stringify(out));
};
server.listen(0, '127.0.0.1', () => all().catch(e => console.log(e)).finally(process.exit));
