const size = process.env.PLANTED ? 30_000 : 50;

const items = Array.from({ length: size }, (_, i) => ({ id: i, name: `item ${i * 7919 % size}` }));

export async function search(req, res) {
  await new Promise(resolve => setImmediate(resolve)); // a database
  const found = ranked(req.query.q);
  res.json(found.slice(0, 10));
}

function ranked(q) {
  const wanted = items.filter(item => item.name.includes(q));
  return wanted.sort((a, b) => (a.name < b.name ? -1 : 1)); // planted
}
