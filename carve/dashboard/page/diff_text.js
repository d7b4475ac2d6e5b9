import { align } from './align.js';

// Numbers are one token with their commas and their point, so that a figure is
// marked as a whole and not digit by digit.
const token = /\d+(?:[.,]\d+)*|[\p{L}\p{M}_]+|./gsu;

// diffText gives for each side its pieces {text, same}, in order.
export function diffText(monolith, candidate) {
  const a = monolith.match(token) ?? [], b = candidate.match(token) ?? [];
  const left = [], right = [];
  for (const step of align(a, b)) {
    if (step.a.length) left.push({ text: step.a.map(i => a[i]).join(''), same: step.same });
    if (step.b.length) right.push({ text: step.b.map(i => b[i]).join(''), same: step.same });
  }
  return { left, right };
}
