// What whittle leaves in a Node process whose inspector it opened, so that the
// inspector closes though whittle was killed: a connection to whittle, which
// breaks with it. It breaks for nothing else: closing the inspector keeps the
// event loop until all of its sessions have ended, and a whittle that is merely
// stopped would not end its own.
(function (id, port, opened) {
  const key = Symbol.for('whittle.leases');
  if (!globalThis[key] && !opened) return false; // somebody else's: it stays open
  const leases = globalThis[key] ?? new Map();
  Object.defineProperty(globalThis, key, { value: leases, configurable: true });
  const { connect } = require('net'), { setImmediate } = require('timers'), close = process._debugEnd; // which are there only now
  let line;
  const end = () => {
    line.destroy();
    if (!leases.delete(id) || leases.size > 0) return;
    delete globalThis[key];
    try {
      for (const marks of globalThis[Symbol.for('whittle.marks')]?.values() ?? []) marks.stop();
    } finally {
      close();
    }
  };
  // In a callback of its own: what an idle process queues now, it would do when something
  // else happens.
  setImmediate(() => {
    line = connect({ host: '127.0.0.1', port }).unref();
    // Refused: whittle has gone before it came. One that never comes breaks for nobody's
    // death.
    line.on('error', ({ code }) => { if (code === 'ECONNREFUSED' || code === 'ECONNRESET') end(); });
    line.once('connect', () => line.once('close', end));
  });
  leases.set(id, end);
  return true;
})
