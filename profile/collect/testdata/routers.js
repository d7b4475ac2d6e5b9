// Servers whose tables of routes have the shapes of frameworks', so that no package is
// needed: one that only the heap knows, as hapi's, and one whose layers say what of a
// path they matched, as those of Express since 5.3; and polka's, h3's, Elysia's,
// moleculer-web's, Fastify's, and AdonisJS's, which is private.
'use strict';
const http = require('node:http');
const { Core } = require('./core.js');

function layer(prefix, handle) {
  const open = new RegExp('^' + prefix.replace(/:(\w+)/g, '(?<$1>[^/]+)') + '(?=/|$)');
  return {
    handle,
    match(path) {
      const found = open.exec(path);
      return found ? { path: found[0], params: { ...found.groups } } : false;
    },
  };
}

function routerOf(...stack) {
  const handle = (req, res) => res.end('x');
  return Object.assign(handle, { handle, stack });
}

const get = (path, handle) => ({ ...layer(path, handle), route: { path, stack: [{ method: 'get', handle }] } });

const done = (req, res) => res.end('x');
const listener = new Core([['get', '/items/{id}', (req, res) => done(req, res)], ['post', '/items', (req, res) => done(req, res)]])._createListener();
const app = routerOf(
  layer('/v1/tenants/:tenant', routerOf(layer('/users/:user', routerOf(get('/list', (req, res) => done(req, res)), get('/:item', (req, res) => done(req, res)), get('{/:lang}/tags', (req, res) => done(req, res)))))),
);
const polka = (handlers, apps) => {
  const one = { handlers, apps, bwares: {}, find() {}, handler(req, res) { this.find(); done(req, res); } };
  one.handler = one.handler.bind(one);
  return one;
};
const shops = polka({ GET: { '/:shop': [done, (req, res) => done(req, res)] } }, {});
const small = polka({ GET: { '/ping': [(req, res) => done(req, res)] } }, { '/shops': polka({}, { '/all': shops }) });
const h3 = { '~routes': [{ method: 'POST', route: '/api/:picture', handler: () => 'x' }, { method: '', route: '/any', handler: () => 'x' }] };
const broker = { aliases: [{ method: 'PUT', fullPath: '/acts/:act', re: /^\/acts\/([^/]+)$/ }, { method: '*', fullPath: '/acts', re: /^\/acts$/ }] };
const history = [{ method: 'GET', path: '/cats/:cat', handler: () => 'x', compile() {} }, { method: 'ALL', path: '/cats', handler: 'x', compile() {} }];
const kinds = { handler: (req, res) => done(req, res) }, found = { handler: (req, res) => done(req, res) }, bare = { handler: (req, res) => done(req, res) }; // find-my-way's
const fastify = { routes: [['/kinds/:kind', kinds], ['/kinds', kinds], ['/found/:id', found], ['/found', bare]].flatMap(([path, store]) => ['GET', 'HEAD'].map(method => ({ method, path, opts: {}, handler: done, store }))) };
class Store { tree = { tokens: [], domains: { root: { GET: { tokens: [], routeKeys: {}, routes: { '/dogs/:dog': { handler: () => 'x' }, dogs: { handler: { handle() {} } } } } } } }; }
class Router { #store = new Store(); get store() { return this.#store; } }
class Server { #router = new Router(); handle(req, res) { done(req, res, this.#router); } }
const adonis = new Server();
const listeners = [(req, res) => app(req, res), small.handler, (req, res) => done(req, res, h3), (req, res) => done(req, res, broker), (req, res) => done(req, res, history), (req, res) => done(req, res, fastify), adonis.handle.bind(adonis)];
const ports = [];
for (const server of [listener, ...listeners.map(f => http.createServer(f))]) {
  server.listen(0, '127.0.0.1', () => {
    ports.push(server.address().port);
    if (ports.length === listeners.length + 1) console.log(listener.address().port);
  });
}
process.stdin.resume().on('end', () => process.exit(0));
