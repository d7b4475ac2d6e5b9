'use strict';
const express = require('express4');
const routes = require('./routes');
const { notFound, errorHandler } = require('./middleware/errors');

const app = express();
app.disable('x-powered-by');
app.use(express.json({ limit: '1mb' }));
app.use(express.urlencoded({ extended: true }));
app.use('/api/v1', routes);
app.get('/healthz', (_req, res) => res.sendStatus(204));
app.use(notFound);
app.use(errorHandler);
require('../start')(app.listen(0, '127.0.0.1'));
