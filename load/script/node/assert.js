const {inspect, isDeepStrictEqual} = require('util');
class AssertionError extends Error {
  constructor(o) { super(o.message); this.name = 'AssertionError'; this.code = 'ERR_ASSERTION'; this.actual = o.actual; this.expected = o.expected; }
}
const fail = (message, text, actual, expected) => { if (message instanceof Error) throw message; throw new AssertionError({message: message || text, actual, expected}); };
const assert = (v, message) => { if (!v) fail(message, 'the value is ' + inspect(v), v, true); };
module.exports = Object.assign(assert, {
  ok: assert, AssertionError, fail: message => fail(message, 'Failed'),
  equal: (a, b, m) => { if (!(a == b || a !== a && b !== b)) fail(m, inspect(a) + ' == ' + inspect(b), a, b); },
  notEqual: (a, b, m) => { if (a == b) fail(m, inspect(a) + ' != ' + inspect(b), a, b); },
  strictEqual: (a, b, m) => { if (!Object.is(a, b)) fail(m, inspect(a) + ' === ' + inspect(b), a, b); },
  notStrictEqual: (a, b, m) => { if (Object.is(a, b)) fail(m, inspect(a) + ' !== ' + inspect(b), a, b); },
  deepStrictEqual: (a, b, m) => { if (!isDeepStrictEqual(a, b)) fail(m, inspect(a) + ' is not ' + inspect(b), a, b); },
  deepEqual: (a, b, m) => { if (!isDeepStrictEqual(a, b)) fail(m, inspect(a) + ' is not ' + inspect(b), a, b); },
  match: (a, re, m) => { if (!re.test(a)) fail(m, inspect(a) + ' does not match ' + re, a, re); },
  throws: (f, m) => { try { f(); } catch { return; } fail(typeof m === 'string' ? m : '', 'nothing was thrown'); },
});
assert.strict = assert;
