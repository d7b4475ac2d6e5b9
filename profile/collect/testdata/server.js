// A router in Express's shape, so that no package is needed: two routes, one
// with its handler in place, one with a handler by name.
'use strict'
const http = require('node:http')

const routes = new Map()
const app = { post: (path, handler) => routes.set('POST ' + path, handler), get: (path, handler) => routes.set('GET ' + path, handler) }

function draw (times) {
  let sum = 0
  for (let i = 0; i < times; i++) sum += Math.round(Math.random() * 100)
  return sum
}

function list (req, res) {
  const all = []
  for (let i = 0; i < 20000; i++) all.push({ i, name: 'thing ' + i })
  res.end(JSON.stringify(all).slice(0, 10))
}

app.post('/Count', (req, res) => {
  res.end('Counted to ' + draw(300000))
})
app.get('/things', list)

const server = http.createServer((req, res) => {
  const handler = routes.get(req.method + ' ' + req.url)
  if (handler) handler(req, res)
  else { res.statusCode = 404; res.end() }
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.resume().on('end', () => process.exit(0))
