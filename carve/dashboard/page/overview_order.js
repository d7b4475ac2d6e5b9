// Which routes the overview shows, and in which order. Pure.
const bad = r => r.guards.some(g => g.breached);

// shown is how many findings count against the candidate.
export const shown = r => r.found.shown;

// attention is how urgently somebody should look, 0 first.
export function attention(r) {
  if (bad(r) || r.phase === 'rolled_back') return 0;
  if (r.evidence.verdict === 'DIFFERENT') return 1;
  if (r.phase === 'shift') return 2;
  if (r.phase === 'live') return 4;
  if (r.phase === 'off') return 5;
  return 3;
}

// wrong is the share of exchanges that were answered otherwise: by the finding
// that is shown most often, or by errors above the monolith's.
export const wrong = r => Math.max(0, r.candidate.errors - r.monolith.errors,
  ...r.evidence.findings.filter(f => f.decided && !f.expected && f.of > 0).map(f => f.count / f.of));

// over is how many times a guard's limit is passed, at the worst.
const over = r => Math.max(0, ...r.guards.filter(g => g.breached && g.limit > 0).map(g => g.candidate / g.limit));

// urgency puts first what is worst: of routes as urgent as each other the one
// that serves most users wrongly, then the one that is wrong most often, then
// the one furthest beyond a guard's limit.
export const urgency = r => [attention(r), ...(attention(r) < 2 ? [-wrong(r) * r.share_bp, -wrong(r), -over(r)] : [])];

export const filters = [
  { key: 'all', label: 'All', takes: () => true },
  { key: 'attention', label: 'Needs a look', takes: r => attention(r) < 2 },
  { key: 'DIFFERENT', label: 'Different', takes: r => r.evidence.verdict === 'DIFFERENT' },
  { key: 'UNDECIDED', label: 'Undecided', takes: r => r.evidence.verdict === 'UNDECIDED' },
  { key: 'EQUIVALENT', label: 'Equivalent', takes: r => r.evidence.verdict === 'EQUIVALENT' },
  { key: 'shadow', label: 'Shadow', takes: r => r.phase === 'shadow' },
  { key: 'shift', label: 'Shifting', takes: r => r.phase === 'shift' },
  { key: 'live', label: 'Live', takes: r => r.phase === 'live' },
  { key: 'rolled_back', label: 'Rolled back', takes: r => r.phase === 'rolled_back' },
  { key: 'off', label: 'Off', takes: r => r.phase === 'off' },
];

const verdictRank = ['DIFFERENT', 'UNDECIDED', 'EQUIVALENT'];
const traffic = r => r.monolith.per_second + r.candidate.per_second;

// sorts: by gives a number, or several of which the first counts most, smallest
// first; down says that the largest is what
// one looks for first.
export const sorts = {
  attention: { label: 'What needs a look', by: urgency },
  name: { label: 'Name', by: () => 0 },
  share: { label: 'Share', by: r => r.share_bp, down: true },
  verdict: { label: 'Verdict', by: r => verdictRank.indexOf(r.evidence.verdict) },
  findings: { label: 'Findings', by: shown, down: true },
  requests: { label: 'Requests per second', by: traffic, down: true },
  errors: { label: 'Candidate’s errors', by: r => r.candidate.errors, down: true },
  p99: { label: 'Candidate’s p99', by: r => r.candidate.p99_ms, down: true },
  compared: { label: 'Compared', by: r => r.evidence.compared, down: true },
};

// arrange gives the names of the routes to show. search is taken word by word.
export function arrange(routes, { filter, search, sort, reverse }) {
  const takes = (filters.find(f => f.key === filter) ?? filters[0]).takes;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const { by, down } = sorts[sort] ?? sorts.attention;
  const sign = Boolean(down) === Boolean(reverse) ? 1 : -1;
  return routes
    .filter(r => takes(r) && words.every(w => r.route.toLowerCase().includes(w)))
    .map(r => ({ name: r.route, key: by(r) }))
    .sort((a, b) => sign * order(a.key, b.key) || (sort === 'name' ? sign : 1) * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(r => r.name);
}

function order(a, b) {
  if (!Array.isArray(a)) return a - b;
  const at = a.findIndex((x, i) => x !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
}
