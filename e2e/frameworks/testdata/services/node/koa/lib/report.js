const size = process.env.PLANTED ? 15_000 : 20;

const rows = Array.from({ length: size }, (_, i) => ({ id: i, name: `row ${i}`, at: { day: i % 365, hours: [i % 24, 3, 4] } }));

async function load() {
  await new Promise(resolve => setImmediate(resolve));
  return rows;
}

exports.year = async ctx => {
  const found = await load();
  const text = JSON.stringify(found); // planted
  ctx.body = { size: text.length };
};

exports.summary = async ctx => {
  ctx.body = { rows: (await load()).length };
};
