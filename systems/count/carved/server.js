'use strict';

const { createApp } = require('./app');
const { connect } = require('./service');
const { serve } = require('../listen');

// COUNT_URL is where the service responds, COUNT_DEADLINE_MS how long a call may
// take, in milliseconds.
const url = process.env.COUNT_URL || 'http://127.0.0.1:6666/';
const deadlineMs = Number(process.env.COUNT_DEADLINE_MS || 10_000);

if (!URL.canParse(url) || !(deadlineMs > 0)) {
  console.error('COUNT_URL must be a URL and COUNT_DEADLINE_MS a number of milliseconds above 0');
  process.exitCode = 2;
} else {
  const service = connect({ url, deadlineMs });
  serve(createApp(service.count));
}
