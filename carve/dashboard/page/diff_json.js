import { align } from './align.js';
import { compact, readJSON } from './json_text.js';

// diffJSON lays two JSON texts side by side, member by member. It gives
// lines {depth, left, right, mark}: left and right are texts, null where that
// side has no such line; mark is 'same', 'changed', 'missing' (of the monolith
// alone), 'extra' (of the candidate alone) or 'cut' (one side's sample ends
// before it, so nothing is known). Null where either is not JSON.
export function diffJSON(monolith, candidate) {
  const a = readJSON(monolith), b = readJSON(candidate);
  if (!a || !b) return null;
  const lines = [];
  pair(lines, 0, '', a, b);
  return lines;
}

const brackets = { object: ['{', '}'], array: ['[', ']'] };

function pair(lines, depth, name, a, b) {
  if (a.kind !== b.kind || a.kind === 'scalar') {
    lines.push({ depth, left: name + compact(a), right: name + compact(b), mark: markOf(a, b) });
    return;
  }
  const [open, close] = brackets[a.kind];
  if (!sizeOf(a) && !sizeOf(b)) {
    lines.push({ depth, left: name + compact(a), right: name + compact(b), mark: a.cut || b.cut ? 'cut' : 'same' });
    return;
  }
  lines.push({ depth, left: name + open, right: name + open, mark: 'same' });
  if (a.kind === 'object') members(lines, depth + 1, a, b);
  else items(lines, depth + 1, a, b);
  if (a.cut || b.cut) lines.push({ depth: depth + (a.cut && b.cut ? 1 : 0), left: a.cut ? '…' : close, right: b.cut ? '…' : close, mark: 'cut' });
  else lines.push({ depth, left: close, right: close, mark: 'same' });
}

const sizeOf = v => (v.kind === 'object' ? v.members.length : v.items.length);

function markOf(a, b) {
  const [x, y] = [compact(a), compact(b)];
  if (x === y) return a.cut ? 'cut' : 'same';
  if (sameNumber(x, y)) return 'same';
  const [p, q] = [a.raw ?? '', b.raw ?? ''];
  if ((a.cut && q.startsWith(p)) || (b.cut && p.startsWith(q))) return 'cut';
  return 'changed';
}

// sameNumber takes 1.0 for 1, as the comparison does, as long as a float holds
// both exactly.
const sameNumber = (x, y) => [x, y].every(n => /^-?[\d.]{1,15}$/.test(n)) && Number(x) === Number(y);

// alone is a value that one side lacks; if the other side is cut there, nobody
// knows that it lacks it.
function alone(lines, depth, text, isLeft, otherCut) {
  lines.push({ depth, left: isLeft ? text : null, right: isLeft ? null : text, mark: otherCut ? 'cut' : isLeft ? 'missing' : 'extra' });
}

function members(lines, depth, a, b) {
  const rest = new Map();
  for (const [key, v] of b.members) rest.set(key, [...(rest.get(key) ?? []), v]);
  for (const [key, v] of a.members) {
    const other = rest.get(key)?.shift();
    if (other) pair(lines, depth, `${key}: `, v, other);
    else alone(lines, depth, `${key}: ${compact(v)}`, true, b.cut);
  }
  for (const [key, left] of rest) for (const v of left) alone(lines, depth, `${key}: ${compact(v)}`, false, a.cut);
}

function items(lines, depth, a, b) {
  const x = a.items.map(compact), y = b.items.map(compact);
  for (const step of align(x, y)) {
    // Between what is alike, the first are held against the first.
    const both = Math.min(step.a.length, step.b.length);
    for (let i = 0; i < both; i++) pair(lines, depth, '', a.items[step.a[i]], b.items[step.b[i]]);
    for (const i of step.a.slice(both)) alone(lines, depth, x[i], true, b.cut);
    for (const i of step.b.slice(both)) alone(lines, depth, y[i], false, a.cut);
  }
}
