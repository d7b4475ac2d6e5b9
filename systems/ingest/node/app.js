'use strict';

const http = require('node:http');
const { statusOf } = require('./stream');

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// read gives a request's body in one piece, or refuses one that is larger than
// a record can be. It leaves the connection alone, so that the refusal arrives.
function read(req, maxBody) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    let size = 0;
    const refuse = () => {
      req.removeAllListeners('data');
      req.pause();
      reject(new Refusal(413, `an event is at most ${maxBody} bytes`));
    };
    if (Number(req.headers['content-length']) > maxBody) {
      refuse();
      return;
    }
    req.on('data', (chunk) => {
      size += chunk.length;
      if (size > maxBody) {
        refuse();
        return;
      }
      chunks.push(chunk);
    });
    req.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size)));
    req.on('error', reject);
    req.on('close', () => reject(new Refusal(400, 'the body broke off')));
  });
}

function respond(res, status, body, headers = {}) {
  const text = JSON.stringify(body);
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  res.end(text);
}

// createServer gives the HTTP server: POST /import puts its body onto the
// stream as it is, and responds with where it is kept once it is kept.
function createServer(stream, { maxBody }) {
  async function handle(req, res) {
    if (req.url.split('?', 1)[0] !== '/import') {
      throw new Refusal(404, 'the route is POST /import');
    }
    if (req.method !== 'POST') {
      res.setHeader('Allow', 'POST');
      throw new Refusal(405, 'the route is POST /import');
    }
    respond(res, 200, await stream.put(await read(req, maxBody)));
  }

  function fail(req, res, err) {
    if (res.headersSent || res.destroyed) {
      res.destroy();
      return;
    }
    const headers = {};
    if (!req.complete) {
      headers.Connection = 'close'; // what is left of the body will not be read
    }
    if (err instanceof Refusal) {
      respond(res, err.status, { error: err.message }, headers);
      return;
    }
    const status = statusOf(err);
    if (status === 503) {
      headers['Retry-After'] = '1';
    }
    console.error(`POST /import: ${err.name}: ${err.message}`);
    respond(res, status, { error: status === 400 ? 'Kinesis takes no such event' : 'the stream is not taking events' }, headers);
  }

  const server = http.createServer((req, res) => {
    handle(req, res).catch((err) => fail(req, res, err));
  });
  // Longer than load balancers and clients keep an idle connection, so that
  // none is closed under a request.
  server.keepAliveTimeout = 65_000;
  return server;
}

module.exports = { createServer };
