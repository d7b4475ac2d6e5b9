import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import start from '../start.js';
import { words } from './words.js';

const app = new Hono();
const texts = new Hono();
texts.get('/:id', c => c.json({ id: c.req.param('id') }));
texts.post('/words', async c => c.json({ words: words(await c.req.text()) }));
app.use('*', async (c, next) => {
  await next();
  c.header('x-served-by', 'shop');
});
app.route('/texts', texts);
app.get('/', c => c.text('shop'));
start(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
