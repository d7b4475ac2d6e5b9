const { parentPort } = require('node:worker_threads');

const rounds = process.env.PLANTED ? 400_000 : 10;

function render(name) {
  let sum = name.length;
  for (let i = 0; i < rounds; i++) sum += Math.sqrt(i) * Math.sin(i); // planted
  return `<p>${sum}</p>`;
}

parentPort.on('message', ({ id, name }) => parentPort.postMessage({ id, page: render(name) }));
