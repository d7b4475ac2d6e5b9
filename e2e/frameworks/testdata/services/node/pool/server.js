const { pbkdf2 } = require('node:crypto');
const fastify = require('fastify')();

const rounds = process.env.PLANTED ? 30_000 : 10;

fastify.post('/login', (request, reply) => {
  pbkdf2(request.body.password, 'salt', rounds, 32, 'sha256', (err, key) => { // planted
    reply.send({ key: key.toString('hex') });
  });
});
fastify.get('/', async () => ({ shop: true }));
fastify.listen({ port: 0, host: '127.0.0.1' }).then(() => require('../start')(fastify.server));
