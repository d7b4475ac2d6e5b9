// Serves every mistake at GET /fault/NAME and its twin at GET /clean/NAME, by the
// framework that is named: node server.js FRAMEWORK.
const http = require('http');
const start = require('../start');

const routes = [];
for (const kind of ['fault', 'clean']) {
  for (const [name, work] of Object.entries(require(`./${kind}s`))) {
    routes.push({ path: `/${kind}/${name}`, work });
  }
}

const express = module => {
  const app = require(module)();
  for (const { path, work } of routes) {
    app.get(path, async (req, res) => res.send(await work()));
  }
  start(app.listen(0, '127.0.0.1'));
};

const frameworks = {
  http() {
    const table = new Map(routes.map(({ path, work }) => [path, work]));
    start(http.createServer(async (req, res) => res.end(await table.get(req.url)?.())).listen(0, '127.0.0.1'));
  },
  express4: () => express('express4'),
  express5: () => express('express5'),
  koa() {
    const Koa = require('koa');
    const { Router } = require('@koa/router');
    const router = new Router();
    for (const { path, work } of routes) {
      router.get(path, async ctx => { ctx.body = await work(); });
    }
    start(new Koa().use(router.routes()).listen(0, '127.0.0.1'));
  },
  async fastify() {
    const app = require('fastify')();
    for (const { path, work } of routes) {
      app.get(path, async () => work());
    }
    await app.listen({ port: 0, host: '127.0.0.1' });
    start(app.server);
  },
  async nest() {
    require('reflect-metadata');
    const { Controller, Get, Module } = require('@nestjs/common');
    const { NestFactory } = require('@nestjs/core');
    class Smells {}
    routes.forEach(({ path, work }, i) => {
      const method = `route${i}`;
      Smells.prototype[method] = async function route() { return work(); };
      Get(path)(Smells.prototype, method, Object.getOwnPropertyDescriptor(Smells.prototype, method));
    });
    Controller()(Smells);
    class App {}
    Module({ controllers: [Smells] })(App);
    const app = await NestFactory.create(App, { logger: false });
    await app.listen(0, '127.0.0.1');
    start(app.getHttpServer());
  },
  async hono() {
    const { Hono } = await import('hono');
    const { serve } = await import('@hono/node-server');
    const app = new Hono();
    for (const { path, work } of routes) {
      app.get(path, async c => c.body(await work()));
    }
    start(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
  },
  async hapi() {
    const server = require('@hapi/hapi').server({ port: 0, host: '127.0.0.1' });
    for (const { path, work } of routes) {
      server.route({ method: 'GET', path, handler: () => work() });
    }
    await server.start();
    start(server.listener);
  },
};
frameworks[process.argv[2]]();
