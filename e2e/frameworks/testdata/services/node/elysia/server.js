import { node } from '@elysiajs/node';
import { Elysia } from 'elysia';
import start from '../start.js';
import { offers } from './offers.js';

const shops = new Elysia({ prefix: '/shops' })
  .get('/:shop', ({ params }) => params.shop)
  .get('/:shop/offers', ({ params }) => ({ offers: offers(params.shop) }));
new Elysia({ adapter: node() }).use(shops).get('/', 'shops').listen({ port: 0, hostname: '127.0.0.1' });

// The adapter keeps its server to itself.
const listens = setInterval(() => {
  const server = process._getActiveHandles().find(h => h.listening && h.listeners('request').length);
  if (!server) return;
  clearInterval(listens);
  start(server);
}, 10);
