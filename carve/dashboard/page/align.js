// most bounds the table of a longest common subsequence, in cells. Above it only
// the common beginning and end count as alike.
const most = 1_000_000;

// align walks two lists of strings and gives steps {same, a: [index], b:
// [index]}: runs that are alike, and between them what each list has instead.
export function align(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const steps = [];
  const add = (same, i, j) => {
    let last = steps.at(-1);
    if (!last || last.same !== same) steps.push(last = { same, a: [], b: [] });
    if (i !== null) last.a.push(i);
    if (j !== null) last.b.push(j);
  };
  for (let i = 0; i < head; i++) add(true, i, i);
  middle(a, b, head, a.length - tail, b.length - tail, add);
  for (let i = tail; i > 0; i--) add(true, a.length - i, b.length - i);
  return steps;
}

function middle(a, b, from, endA, endB, add) {
  const n = endA - from, m = endB - from;
  let i = 0, j = 0;
  if (n * m <= most) {
    // length[i][j] is that of the longest common subsequence of what follows.
    const length = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
    for (let p = n - 1; p >= 0; p--) {
      for (let q = m - 1; q >= 0; q--) {
        length[p][q] = a[from + p] === b[from + q] ? length[p + 1][q + 1] + 1 : Math.max(length[p + 1][q], length[p][q + 1]);
      }
    }
    while (i < n && j < m) {
      if (a[from + i] === b[from + j]) add(true, from + i++, from + j++);
      else if (length[i + 1][j] >= length[i][j + 1]) add(false, from + i++, null);
      else add(false, null, from + j++);
    }
  }
  for (; i < n; i++) add(false, from + i, null);
  for (; j < m; j++) add(false, null, from + j);
}
