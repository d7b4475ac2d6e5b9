// Requests are put into a queue in memory, which one loop works off: the work is in no
// request's turn.
const Fastify = require('fastify');
const { EventEmitter, once } = require('events');
const rounds = process.env.PLANTED ? 300_000 : 1;

const queue = [];
const wake = new EventEmitter();
function thumbnail(job) {
  let hash = 5381;
  for (let i = 0; i < rounds; i++) {
    hash = (hash * 33 + (job.name.charCodeAt(i % job.name.length) ^ i)) % 4294967291; // planted
  }
  return hash;
}
(async () => {
  for (;;) {
    while (queue.length === 0) await once(wake, 'job');
    const job = queue.shift();
    job.done(thumbnail(job));
    await new Promise(done => setImmediate(done));
  }
})();

const app = Fastify();
app.post('/thumbnails', async request => new Promise(done => {
  queue.push({ name: request.body.name, done: hash => done({ hash }) });
  wake.emit('job');
}));
app.get('/thumbnails/:id', async request => ({ id: request.params.id }));
app.get('/queue', async () => ({ length: queue.length }));
app.listen({ port: 0, host: '127.0.0.1' }).then(() => require('../start')(app.server));
