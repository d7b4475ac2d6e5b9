// What whittle leaves in a Node process whose inspector it opened, so that the
// inspector closes though whittle was killed: a connection to whittle, which
// breaks with it. It breaks for nothing else: closing the inspector keeps the
// event loop until all of its sessions have ended, and a whittle that is merely
// stopped would not end its own.
(function (id, port, opened) {
  const key = Symbol.for('whittle.leases');
  if (!globalThis[key] && !opened) return false; // somebody else's: it stays open
  const line = require('net').connect({ host: '127.0.0.1', port }).unref();
  const leases = globalThis[key] ?? new Map();
  Object.defineProperty(globalThis, key, { value: leases, configurable: true });
  const end = () => {
    line.destroy();
    if (!leases.delete(id) || leases.size > 0) return;
    delete globalThis[key];
    for (const marks of globalThis[Symbol.for('whittle.marks')]?.values() ?? []) marks.stop();
    process._debugEnd();
  };
  line.on('error', () => {}); // one that never came breaks for nobody's death
  line.once('connect', () => line.once('close', end));
  leases.set(id, end);
  return true;
})
