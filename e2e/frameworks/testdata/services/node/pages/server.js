// A server of files: api/orders/[id]/pdf.js serves /api/orders/:id/pdf, as Next.js does.
const fs = require('fs');
const http = require('http');
const path = require('path');

const root = path.join(__dirname, 'api');
const table = [];
(function walk(folder, parts) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = entry.name.replace(/\.js$/, '');
    if (entry.isDirectory()) walk(path.join(folder, entry.name), [...parts, entry.name]);
    else table.push({ parts: name === 'index' ? parts : [...parts, name], load: () => require(path.join(folder, entry.name)) });
  }
})(root, ['api']);

function match(pathname) {
  const asked = pathname.split('/').filter(Boolean);
  for (const { parts, load } of table) {
    if (parts.length !== asked.length) continue;
    const query = {};
    if (parts.every((part, i) => {
      const key = /^\[(.+)\]$/.exec(part);
      if (key) query[key[1]] = decodeURIComponent(asked[i]);
      return key || part === asked[i];
    })) return { query, handler: load().default };
  }
}

const server = http.createServer(async (req, res) => {
  const [pathname] = req.url.split('?');
  const found = match(pathname);
  res.status = code => { res.statusCode = code; return res; };
  res.json = value => { res.setHeader('Content-Type', 'application/json'); res.end(JSON.stringify(value)); };
  if (!found) return res.status(404).json({});
  let body = '';
  for await (const piece of req) body += piece;
  req.body = body ? JSON.parse(body) : undefined;
  req.query = found.query;
  await found.handler(req, res);
});
require('../start')(server.listen(0, '127.0.0.1'));
