// The CPU time of this process and of each of its threads, in nanoseconds, with the
// threads' names, as Linux counts it; and which thread this is.
(function () {
  const fs = process.getBuiltinModule?.('fs') ?? require('fs');
  const { user, system } = process.cpuUsage();
  const out = { process: (user + system) * 1000, self: 0, threads: [] };
  try {
    out.self = +fs.readlinkSync('/proc/thread-self').split('/').pop();
    for (const id of fs.readdirSync('/proc/self/task').slice(0, 1000)) {
      const folder = '/proc/self/task/' + id;
      try {
        const name = fs.readFileSync(folder + '/comm', 'utf8').trim();
        out.threads.push({ id: +id, name, cpu: +fs.readFileSync(folder + '/schedstat', 'utf8').split(' ')[0] });
      } catch {
        continue; // it has ended
      }
    }
  } catch {
    out.threads = []; // no Linux
  }
  return JSON.stringify(out);
})()
