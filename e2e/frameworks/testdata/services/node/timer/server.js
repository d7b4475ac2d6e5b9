// A job of the process's own, every 50 ms, is what is dear here: no request asks for it.
const express = require('express5');
const rounds = process.env.PLANTED ? 400_000 : 1;

const stats = { runs: 0, sum: 0 };
function aggregate() {
  for (let i = 0; i < rounds; i++) {
    stats.sum += Math.sin(i) ** 2; // planted
  }
  stats.runs++;
}
setInterval(aggregate, 50);

const app = express();
app.get('/stats', (req, res) => res.json(stats));
app.get('/devices/:id', async (req, res) => {
  await new Promise(done => setTimeout(done, 15));
  res.json({ id: req.params.id });
});
app.post('/devices/:id/events', express.json(), (req, res) => res.status(202).json(req.body));
require('../start')(app.listen(0, '127.0.0.1'));
