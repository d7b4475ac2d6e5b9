// Figures for people. A thousands comma and "5 %" as in whittle's own sentences,
// which stand next to them. All of these are pure.
const nothing = '–';
const gap = '\u00a0'; // keeps a figure and its unit on one line

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const count = n => grouped.format(n);

// plural gives "1 route", "2 routes".
export const plural = (n, one, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;

// digits writes a figure with so many significant digits, all of a large one, and as a
// power of ten what would be a row of zeros: evidence multiplies, and knows no bound.
export function digits(n, most = 3) {
  if (!Number.isFinite(n)) return nothing;
  if (n === 0) return '0';
  const size = Math.abs(n);
  if (size < 1e-4 || size >= 1e12) return n.toExponential(1).replace('e', '·10^').replace('+', '');
  if (size >= 10 ** most) return grouped.format(n);
  return String(Number(n.toPrecision(most)));
}

// percent writes a share of 0 to 1. What is not 0 is never written as 0.
export function percent(share) {
  const p = share * 100;
  if (p > 0 && p < 0.01) return `<${gap}0.01${gap}%`;
  return `${digits(p)}${gap}%`;
}

// basis writes basis points in percent.
export const basis = bp => `${Number((bp / 100).toFixed(2))}${gap}%`;

export function rate(perSecond) {
  if (perSecond >= 100_000) return `${digits(perSecond / 1000)}${gap}k`;
  if (perSecond > 0 && perSecond < 0.1) return `<${gap}0.1`;
  return perSecond < 10 ? String(Number(perSecond.toFixed(1))) : grouped.format(perSecond);
}

// millis writes a latency; 0 means that there was none.
export function millis(ms) {
  if (!(ms > 0)) return nothing;
  if (ms >= 10_000) return `${digits(ms / 1000)}${gap}s`;
  return `${digits(ms)}${gap}ms`;
}

// span writes a duration in ms with its two largest units.
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const at = units.findIndex(([, size]) => s >= size);
  if (at < 0) return `0${gap}s`;
  const [unit, size] = units[at];
  const whole = `${Math.floor(s / size)}${gap}${unit}`;
  if (at + 1 >= units.length || s >= size * 10) return whole;
  const [small, least] = units[at + 1];
  const left = Math.floor((s % size) / least);
  return left ? `${whole} ${left}${gap}${small}` : whole;
}

// times writes how many times b is of a: "2.1×".
export function times(a, b) {
  if (!(a > 0) || !(b > 0)) return nothing;
  return `${digits(b / a, 2)}×`;
}

// named looks a word of the API's up, and gives the word itself where it is not
// known: it may be any text.
export const named = (table, word) => (Object.hasOwn(table, word) ? table[word] : word);

// visible shows what would otherwise reorder or hide the text around it:
// controls and the marks of direction.
export const visible = text => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
  c => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
