const { parentPort, receiveMessageOnPort, workerData: bell } = require('worker_threads');

const rounds = process.env.PLANTED ? 1_000_000 : 20;

function convert(sum) {
  for (let i = 0; i < rounds; i++) {
    sum += Math.sqrt(i) * Math.sin(i); // planted
  }
  return sum;
}

for (let rung = 0; ; rung = Atomics.load(bell, 0)) {
  for (let job; (job = receiveMessageOnPort(parentPort)) !== undefined;) {
    parentPort.postMessage({ id: job.message.id, sum: convert(job.message.n) });
  }
  Atomics.wait(bell, 0, rung);
}
