const express = require('express');
const app = express();

app.get('/primes/:n', (req, res) => {
  const n = Number(req.params.n);
  if (!(n >= 0 && n <= 200000)) {
    res.status(400).json({ error: 'n is a number from 0 to 200000' });
    return;
  }
  let count = 0;
  let largest = null;
  for (let i = 2; i <= n; i++) {
    let prime = true;
    for (let d = 2; d * d <= i && prime; d++) prime = i % d !== 0;
    if (prime) {
      count++;
      largest = i;
    }
  }
  res.json({ n, count, largest, at: new Date().toISOString() });
});

app.listen(3000, '127.0.0.1');
