const Koa = require('koa');
const { Router } = require('@koa/router');
const report = require('./lib/report');

const app = new Koa();
app.use(async (ctx, next) => {
  await next();
  ctx.set('x-served-by', 'shop');
});
const reports = new Router({ prefix: '/reports' });
reports.get('/:year', report.year);
reports.get('/:year/summary', report.summary);
const api = new Router();
api.use('/v1', reports.routes(), reports.allowedMethods());
api.get('/', ctx => { ctx.body = 'shop'; });
app.use(api.routes());
require('../start')(app.listen(0, '127.0.0.1'));
