// The parts of the page that need no browser: node --test.
import assert from 'node:assert/strict';
import test from 'node:test';
import { align } from '../page/align.js';
import { identified, seriesOf } from '../page/bound_series.js';
import { diffJSON } from '../page/diff_json.js';
import { diffText } from '../page/diff_text.js';
import { entry, narrowing } from '../page/expectation.js';
import * as f from '../page/format.js';
import { compact, readJSON } from '../page/json_text.js';
import { arrange, attention } from '../page/overview_order.js';
import { reader } from '../page/sse.js';

const marks = lines => lines.filter(l => l.mark !== 'same').map(l => `${l.mark} ${l.left?.trim()} ${l.right?.trim()}`);
const plain = text => text.replaceAll('\u00a0', ' ');

test('an event stream in any pieces is the same events', () => {
  const stream = 'retry: 250\r\n\r\n: beat\n\nevent: status\ndata: {"a":\rdata: 1}\n\ndata:x\n\nevent: none\n\ndata: cut off';
  for (let size = 1; size <= stream.length; size++) {
    const got = [];
    const feed = reader((name, data) => got.push([name, data]), ms => got.push(ms));
    for (let i = 0; i < stream.length; i += size) feed(stream.slice(i, i + size));
    assert.deepEqual(got, [250, ['status', '{"a":\n1}'], ['message', 'x']], `pieces of ${size}`);
  }
});

test('JSON keeps its figures as written, and ends where it was cut', () => {
  assert.equal(compact(readJSON(' {"n":4294967296123456789, "f":1.0,"l":[],"s":"a\\"b"} ')), '{"n": 4294967296123456789, "f": 1.0, "l": [], "s": "a\\"b"}');
  const whole = '{"a":[1,{"b":"text"},true],"c":{"d":null}}';
  for (let i = 1; i < whole.length; i++) {
    const cut = readJSON(`${whole.slice(0, i)}…`);
    assert.ok(cut?.cut, `${whole.slice(0, i)}…`);
  }
  for (const not of ['', 'Counted to 5', '5', '"a"', '{', '[1', '{"a":1}x', '{a:1}', '[1,]x', '{"a" 1}', '[nul]', '[01]', '{"a":1']) assert.equal(readJSON(not), null, not);
  assert.equal(readJSON('['.repeat(5000)), null);
});

test('JSON is held against JSON member by member', () => {
  assert.deepEqual(marks(diffJSON('{"a":1,"b":[1,2,3],"c":{"x":1.0}}', '{"b":[1,3,4],"a":2,"c":{"x":1},"d":null}')),
    ['changed "a": 1 "a": 2', 'missing 2 undefined', 'extra undefined 4', 'extra undefined "d": null']);
  assert.deepEqual(marks(diffJSON('{"id":9007199254740993}', '{"id":9007199254740992}')), ['changed "id": 9007199254740993 "id": 9007199254740992']);
  assert.deepEqual(marks(diffJSON('[{"a":1},{"a":2}]', '[{"a":1},{"a":3}]')), ['changed "a": 2 "a": 3']);
  assert.deepEqual(marks(diffJSON('{"a":{}}', '{"a":[]}')), ['changed "a": {} "a": []']);
  assert.deepEqual(marks(diffJSON('{"a":1}', '{"a":1}')), []);
  assert.equal(diffJSON('{"a":1}', 'Internal error'), null);
});

test('what a sample does not show is not called missing', () => {
  const lines = diffJSON('{"a":1,"b":"hel…', '{"a":2,"b":"hello","c":1}');
  assert.deepEqual(marks(lines), ['changed "a": 1 "a": 2', 'cut "b": "hel… "b": "hello"', 'cut undefined "c": 1', 'cut … }']);
});

test('text is held against text by words and whole figures', () => {
  const changed = side => side.filter(p => !p.same).map(p => p.text);
  const { left, right } = diffText('Counted to 2,999,905,810 \n', 'Counted to -1,325,061,486 ');
  assert.deepEqual(changed(left), ['2,999,905,810', '\n']);
  assert.deepEqual(changed(right), ['-1,325,061,486']);
  for (const [a, b] of [['', ''], ['x', ''], ['', 'y'], ['a b c', 'a c'], ['ab 😀', 'ab 😁']]) {
    const d = diffText(a, b);
    assert.equal(d.left.map(p => p.text).join(''), a);
    assert.equal(d.right.map(p => p.text).join(''), b);
  }
});

test('a table of alignment is bounded', () => {
  const many = (n, c) => Array.from({ length: n }, (_, i) => `${c}${i}`);
  const steps = align(['same', ...many(5000, 'a'), 'end'], ['same', ...many(5000, 'b'), 'end']);
  assert.deepEqual(steps.map(s => [s.same, s.a.length, s.b.length]), [[true, 1, 1], [false, 5000, 5000], [true, 1, 1]]);
});

test('an entry is narrowed by what its kind can be narrowed by', () => {
  assert.deepEqual(narrowing({ kind: 'field', path: '$.a', monolith: '1', candidate: '2' }), { path: '$.a', from: '1', to: '2' });
  assert.deepEqual(narrowing({ kind: 'field', path: '$..*' }), { path: '', from: '', to: '' });
  assert.deepEqual(narrowing({ kind: 'mean', path: 'x', monolith: '50', candidate: '49' }), { path: '', from: '', to: '' });
  assert.deepEqual(narrowing({ kind: 'field', path: '$.mail', monolith: '"redacted-0123456789ab"', candidate: 'missing' }), { path: '$.mail', from: '', to: 'missing' });
  assert.deepEqual(narrowing({ kind: 'header', path: 'Location', monolith: '/a', candidate: 'missing' }), { path: 'Location', from: '/a', to: 'missing' });
  assert.deepEqual(narrowing({ kind: 'header', path: 'Location', monolith: 'other values', candidate: 'other values' }), { path: 'Location', from: '', to: '' });
  assert.equal(entry({ kind: 'status', path: '', from: '200', to: '201', reason: 'it "creates"' }), '- {kind: status, from: "200", to: "201", reason: "it \\"creates\\""}');
  assert.equal(entry({ kind: 'field', path: '$.a', from: 'Hello ${name}', to: '$1 ${' }), '- {kind: field, path: "$.a", from: "Hello $${name}", to: "$1 $${"}');
});

test('figures', () => {
  const cases = [
    [f.percent(0), '0 %'], [f.percent(0.00001), '< 0.01 %'], [f.percent(0.0021), '0.21 %'], [f.percent(1), '100 %'],
    [f.basis(25), '0.25 %'], [f.basis(10000), '100 %'], [f.rate(0), '0'], [f.rate(0.04), '< 0.1'], [f.rate(9.94), '9.9'], [f.rate(12345.6), '12,346'],
    [f.millis(0), '–'], [f.millis(0.25), '0.25 ms'], [f.millis(12345), '12.3 s'],
    [f.span(999), '1 s'], [f.span(61_000), '1 min 1 s'], [f.span(601_000), '10 min'], [f.span(7_300_000), '2 h 1 min'], [f.span(-5), '0 s'],
    [f.times(0, 1), '–'], [f.times(10, 2), '0.2×'], [f.digits(4.1e6), '4,100,000'], [f.digits(Infinity), '–'], [f.digits(8.4517974e51), '8.5·10^51'], [f.digits(0.00001), '1.0·10^-5'],
    [f.visible('a\u202eb\u0000'), 'a⟨U+202E⟩b⟨U+0000⟩'],
  ];
  for (const [got, want] of cases) assert.equal(plain(got), want);
});

test('routes in order', () => {
  const route = (name, part) => ({ route: name, phase: 'shadow', share_bp: 0, guards: [], evidence: { verdict: 'UNDECIDED', findings: [], compared: 0 }, found: { total: 0, shown: 0, intended: 0 }, monolith: { per_second: 0 }, candidate: { per_second: 0 }, ...part });
  const list = [route('GET /b'), route('GET /a'), route('GET /off', { phase: 'off' }), route('POST /c', { phase: 'rolled_back' }),
    route('GET /d', { found: { total: 9, shown: 8, intended: 1 }, evidence: { verdict: 'DIFFERENT', findings: [], compared: 9 } }), route('GET /e', { phase: 'shift', share_bp: 100, guards: [{ breached: true }] })];
  const names = chosen => arrange(list, { filter: 'all', search: '', sort: 'attention', reverse: false, ...chosen });
  assert.deepEqual(names({}), ['GET /e', 'POST /c', 'GET /d', 'GET /a', 'GET /b', 'GET /off']);
  assert.deepEqual(names({ sort: 'name', reverse: true }), ['POST /c', 'GET /off', 'GET /e', 'GET /d', 'GET /b', 'GET /a']);
  assert.equal(names({ sort: 'share' })[0], 'GET /e');
  assert.equal(names({ sort: 'share', reverse: true }).at(-1), 'GET /e');
  assert.equal(names({ sort: 'findings' })[0], 'GET /d');
  assert.deepEqual(names({ search: 'get  /E' }), ['GET /e']);
  assert.deepEqual(names({ filter: 'attention' }), ['GET /e', 'POST /c', 'GET /d']);
  assert.equal(attention(list[0]), 3);
});

test('what needs a look is ordered by how badly', () => {
  const route = (name, change) => ({
    route: name, phase: 'shadow', share_bp: 0, guards: [], found: { shown: 0 }, monolith: { per_second: 0, errors: 0 }, candidate: { per_second: 0, errors: 0 },
    ...change, evidence: { verdict: 'DIFFERENT', findings: [], ...change.evidence },
  });
  const found = (count, more) => ({ evidence: { findings: [{ decided: true, count, of: 100, ...more }] } });
  const list = [
    route('a of the rare', found(1)),
    route('b of the declared', found(90, { expected: 'on purpose' })),
    route('c of the suspected', found(80, { decided: false })),
    route('d of half', found(50)),
    route('e with users', { phase: 'shift', share_bp: 5000, ...found(2) }),
    route('f rolled back', { phase: 'rolled_back', ...found(0) }),
    route('g rolled back, far too slow', { phase: 'rolled_back', guards: [{ breached: true, candidate: 900, limit: 100 }], ...found(0) }),
    route('h rolled back, too slow', { phase: 'rolled_back', guards: [{ breached: true, candidate: 110, limit: 100 }], ...found(0) }),
    route('i rolled back, mostly wrong', { phase: 'rolled_back', ...found(99) }),
    route('j rolled back, failing', { phase: 'rolled_back', candidate: { per_second: 1, errors: 0.3 } }),
    route('k well', { evidence: { verdict: 'EQUIVALENT' } }),
  ];
  const letters = chosen => arrange(list, { filter: 'all', search: '', sort: 'attention', reverse: false, ...chosen }).map(n => n[0]).join('');
  assert.equal(letters({}), 'ijghfedabck');
  assert.equal(letters({ filter: 'attention' }), 'ijghfedabc');
  assert.equal(letters({ reverse: true }), 'kbcadefhgji');
});

test('two bounds of one name have a past each', () => {
  const known = identified([{ what: 'share of responses', id: 'exchanges' }, { what: 'noise' }, { what: 'share of responses' }]);
  assert.deepEqual(known.map(b => b.id), ['exchanges', 'noise', 'share of responses']);
  const bounds = [{ what: 'noise', high: 5 }, { what: 'share of responses', high: 3 }, { what: 'share of responses', id: 'exchanges', high: 4 }];
  const points = [{ at: '2026-05-04T12:00:00Z', compared: 7, bounds }];
  assert.deepEqual(known.map(b => seriesOf(points, b).map(p => p.high)), [[4], [5], [3]]);
});
