'use strict';

const http = require('node:http');
const path = require('node:path');
const protobuf = require('protobufjs');

const root = protobuf.loadSync(path.join(__dirname, '..', 'count.proto'));
const Carved = root.lookupService('twirp.carved.Carved');

// maxResponse bounds what is read of a response, in bytes; a Sum takes 11, an
// error a few hundred.
const maxResponse = 64 * 1024;

// ServiceError says why a call gave no sum, and with which status the
// application's own client is told.
class ServiceError extends Error {
  constructor(status, message, options) {
    super(message, options);
    this.status = status;
  }
}

const unreachable = (cause) => new ServiceError(503, 'the count service cannot be reached', { cause });

// refusal turns a Twirp error into ours: the input's fault stays the input's
// fault, a busy or closing service is worth a retry, all else is the service's.
function refusal(status, body) {
  let code = '';
  let msg = '';
  try {
    ({ code, msg } = JSON.parse(body.toString('utf8')));
  } catch {
    // Not a Twirp error: something else responds at that address.
  }
  switch (code) {
    case 'invalid_argument':
    case 'out_of_range':
      return new ServiceError(400, String(msg));
    case 'resource_exhausted':
    case 'unavailable':
    case 'deadline_exceeded':
      return new ServiceError(503, `the count service is busy: ${code}`);
  }
  return new ServiceError(502, `the count service responded with ${status} ${code}`.trim());
}

// connect gives the service at url as a protobufjs service, and close, which
// lets go of its connections. deadlineMs bounds each call from first to last
// byte. maxSockets bounds the connections; further calls wait for one, within
// their deadline.
function connect({ url, deadlineMs = 10_000, maxSockets = 64 }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets });
  const prefix = new URL(url);

  // post sends one message; a connection that the service closed while it lay
  // idle is no fault of the service, so such a call is sent once more.
  function post(target, message, signal, done) {
    let over = false;
    const finish = (err, body) => {
      if (!over) {
        over = true;
        done(err, body);
      }
    };
    const req = http.request(target, {
      agent,
      method: 'POST',
      headers: { 'Content-Type': 'application/protobuf', 'Content-Length': message.length },
      signal,
    });
    req.on('response', (res) => {
      const chunks = [];
      let size = 0;
      res.on('data', (chunk) => {
        size += chunk.length;
        if (size > maxResponse) {
          finish(new ServiceError(502, 'the count service sent more than a sum'));
          req.destroy();
          return;
        }
        chunks.push(chunk);
      });
      res.on('error', (cause) => finish(unreachable(cause)));
      res.on('end', () => {
        const body = Buffer.concat(chunks);
        if (res.statusCode !== 200) {
          finish(refusal(res.statusCode, body));
        } else if (res.headers['content-type'] !== 'application/protobuf') {
          finish(new ServiceError(502, 'the count service sent something other than protobuf'));
        } else {
          finish(null, body);
        }
      });
    });
    req.on('error', (cause) => {
      if (req.reusedSocket && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE') && !over) {
        over = true;
        post(target, message, signal, done);
        return;
      }
      finish(
        cause.code?.startsWith('HPE_') // Node's HTTP parser
          ? new ServiceError(502, 'the count service sent something other than HTTP', { cause })
          : unreachable(cause),
      );
    });
    req.end(message);
  }

  function rpcImpl(method, message, callback) {
    // protobufjs calls with null to say that the service has ended.
    if (!method) {
      return;
    }
    const target = new URL(`twirp/twirp.carved.Carved/${method.name}`, prefix);
    const signal = AbortSignal.timeout(deadlineMs);
    post(target, message, signal, (err, body) => {
      callback(signal.aborted && err ? new ServiceError(503, `the count service took longer than ${deadlineMs} ms`) : err, body);
    });
  }

  const stub = Carved.create(rpcImpl, false, false);

  // count resolves to the sum of times draws, as a number: no sum is above
  // 2^53. It rejects with a ServiceError.
  async function count(times) {
    let response;
    try {
      response = await stub.count({ times });
    } catch (err) {
      throw err instanceof ServiceError
        ? err
        : new ServiceError(502, 'the count service sent something other than a sum', { cause: err });
    }
    return Number(response.Sum);
  }

  return { count, close: () => agent.destroy() };
}

module.exports = { connect, ServiceError };
