const { createHash } = require('node:crypto');

const rounds = process.env.PLANTED ? 5_000 : 3;

module.exports = async function users(fastify) {
  fastify.get('/:id', async request => ({ id: request.params.id }));

  fastify.post('/login', {
    schema: { body: { type: 'object', properties: { password: { type: 'string' } } } },
  }, async function login(request) {
    let digest = request.body.password;
    for (let i = 0; i < rounds; i++) {
      digest = createHash('sha256').update(digest).digest('hex'); // planted
    }
    return { digest };
  });
};
