// A JSON reader that keeps every scalar as it was written (4294967297 stays
// that number, 1.0 is not 1), and that takes a text which was cut off: what is
// there is read, and marked as cut where it ends. Samples are cut.

const maxDepth = 100;

class NotJSON extends Error {}

// readJSON gives {kind: 'object', members: [[key, value]], cut},
// {kind: 'array', items: [value], cut} or {kind: 'scalar', raw, cut}; null where
// the text is not a JSON object or array, whole or cut off with an ellipsis.
export function readJSON(text) {
  const whole = text.trim();
  const cut = whole.endsWith('…');
  const source = cut ? whole.slice(0, -1) : whole;
  if (source[0] !== '{' && source[0] !== '[') return null;
  let at = 0;
  const over = () => at >= source.length;
  const space = () => { while (' \t\r\n'.includes(source[at]) && !over()) at++; };
  const fail = () => { throw new NotJSON(); };
  const ended = () => (cut ? true : fail());

  function value(depth) {
    if (depth > maxDepth) fail();
    if (source[at] === '{') return object(depth);
    if (source[at] === '[') return array(depth);
    return scalar();
  }

  function scalar() {
    const found = source[at] === '"' ? /"(?:[^"\\]|\\.)*"/y : /[-+.\w]+/y;
    found.lastIndex = at;
    const raw = found.exec(source)?.[0];
    if (raw === undefined) { // a string without its end
      if (source[at] !== '"' || !cut) fail();
      const part = source.slice(at);
      at = source.length;
      return { kind: 'scalar', raw: part, cut: true };
    }
    at += raw.length;
    if (over()) return { kind: 'scalar', raw, cut: raw[0] !== '"' };
    if (raw[0] !== '"' && !/^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)$/.test(raw)) fail();
    return { kind: 'scalar', raw, cut: false };
  }

  function object(depth) {
    const members = [];
    at++;
    for (;;) {
      space();
      if (over()) return ended() && { kind: 'object', members, cut: true };
      if (source[at] === '}' && !members.length) break;
      if (source[at] !== '"') fail();
      const key = scalar();
      if (key.cut) return { kind: 'object', members, cut: true };
      space();
      if (over()) return ended() && { kind: 'object', members, cut: true };
      if (source[at++] !== ':') fail();
      space();
      if (over()) return ended() && { kind: 'object', members, cut: true };
      members.push([key.raw, value(depth + 1)]);
      space();
      if (over()) return ended() && { kind: 'object', members, cut: true };
      if (source[at] === '}') break;
      if (source[at++] !== ',') fail();
    }
    at++;
    return { kind: 'object', members, cut: false };
  }

  function array(depth) {
    const items = [];
    at++;
    for (;;) {
      space();
      if (over()) return ended() && { kind: 'array', items, cut: true };
      if (source[at] === ']' && !items.length) break;
      items.push(value(depth + 1));
      space();
      if (over()) return ended() && { kind: 'array', items, cut: true };
      if (source[at] === ']') break;
      if (source[at++] !== ',') fail();
    }
    at++;
    return { kind: 'array', items, cut: false };
  }

  try {
    const read = value(0);
    space();
    return over() ? read : null;
  } catch (err) {
    if (err instanceof NotJSON) return null;
    throw err;
  }
}

// compact writes a value on one line, its cut-off end as an ellipsis.
export function compact(v) {
  const end = v.cut ? '…' : '';
  if (v.kind === 'scalar') return v.raw + end;
  if (v.kind === 'array') return `[${[...v.items.map(compact), ...(end ? [end] : [])].join(', ')}${end ? '' : ']'}`;
  return `{${[...v.members.map(([k, m]) => `${k}: ${compact(m)}`), ...(end ? [end] : [])].join(', ')}${end ? '' : '}'}`;
}
