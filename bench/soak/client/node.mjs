// One request for each line of standard input, one line for each response.
import http from 'node:http';
import https from 'node:https';
import http2 from 'node:http2';
import fs from 'node:fs';
import readline from 'node:readline';

const [url, version, ca] = process.argv.slice(2);
const trust = ca ? { ca: fs.readFileSync(ca), servername: 'soak.example' } : {};
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

const agents = { keepAlive: true, maxSockets: 4 };
const http1 = url.startsWith('https') ? https : http;
const agent = new http1.Agent({ ...agents, ...trust });

function overHTTP1(q, done) {
  const r = http1.request(url + q.path, { method: q.method, headers: { host: 'soak.example', ...q.headers }, agent, ...trust }, (res) => {
    const parts = [];
    res.on('data', (p) => parts.push(p));
    res.on('error', (e) => done({ error: String(e), heard: true }));
    res.on('end', () => res.complete
      ? done({ status: res.statusCode, fields: res.rawHeaders, trailers: res.rawTrailers, body: Buffer.concat(parts).toString('base64') })
      : done({ error: 'incomplete', heard: true }));
  });
  r.on('error', (e) => done({ error: String(e) }));
  r.end(Buffer.from(q.body, 'base64'));
}

let session;
// A stream that is refused was not processed, so it is sent again, as browsers do (RFC 9113, 8.7).
const REFUSED = http2.constants.NGHTTP2_REFUSED_STREAM;
function overHTTP2(q, done, left = 3) {
  if (!session || session.closed || session.destroyed) {
    session = http2.connect(url, trust);
    session.on('error', () => {});
  }
  const r = session.request({ ':method': q.method, ':path': q.path, ':authority': 'soak.example', ...q.headers }, { endStream: q.body === '' });
  const parts = [];
  let head, trailers = [];
  r.on('response', (h) => { head = h; });
  r.on('trailers', (t) => { trailers = flat(t); });
  r.on('data', (p) => parts.push(p));
  r.on('error', (e) => r.rstCode === REFUSED && left > 0 || done({ error: String(e), heard: head !== undefined }));
  r.on('close', () => r.rstCode === REFUSED && left > 0
    ? (session = undefined, overHTTP2(q, done, left - 1))
    : r.rstCode === 0 && head
    ? done({ status: head[':status'], fields: flat(head), trailers, body: Buffer.concat(parts).toString('base64') })
    : done({ error: `closed with ${r.rstCode}`, heard: head !== undefined }));
  if (q.body !== '') r.end(Buffer.from(q.body, 'base64'));
}

const flat = (h) => Object.entries(h).filter(([n]) => !n.startsWith(':')).flatMap(([n, v]) => [v].flat().flatMap((one) => [n, String(one)]));

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const q = JSON.parse(line);
  q.body ??= '';
  let said = false;
  (version === '2' ? overHTTP2 : overHTTP1)(q, (a) => { if (!said) { said = true; say({ id: q.id, ...a }); } });
}).on('close', () => process.exit(0));
