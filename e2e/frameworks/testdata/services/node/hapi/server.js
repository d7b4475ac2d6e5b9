const Hapi = require('@hapi/hapi');
const { csv } = require('./export');

const server = Hapi.server({ port: 0, host: '127.0.0.1' });
server.route([
  { method: 'GET', path: '/', handler: () => 'shop' },
  { method: 'GET', path: '/orders/{id}', handler: request => ({ id: request.params.id }) },
  { method: 'GET', path: '/orders/{id}/csv', options: { handler: csv } },
]);
server.start().then(() => require('../start')(server.listener));
