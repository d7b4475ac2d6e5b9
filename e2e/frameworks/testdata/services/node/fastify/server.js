const fastify = require('fastify')();
fastify.register(require('./routes/users'), { prefix: '/users' });
fastify.get('/', async () => ({ shop: true }));
fastify.route({
  method: ['GET', 'POST'],
  url: '/echo/:what',
  handler(request, reply) {
    reply.send({ what: request.params.what });
  },
});
fastify.listen({ port: 0, host: '127.0.0.1' }).then(() => require('../start')(fastify.server));
