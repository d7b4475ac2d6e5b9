import { html } from './dom.js';
import { count, named, percent, visible } from './format.js';
import { At } from './time.js';
import { skips } from './words.js';

// parts splits a ledger into what adds up to its total, in a fixed order.
export function parts(ledger) {
  const unknown = ledger.unknown ?? 0;
  const skipped = Object.entries(ledger.skipped ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    { key: 'compared', label: 'Compared', n: ledger.compared, look: 'compared' },
    ...skipped.map(([why, n]) => ({ key: `skipped.${why}`, label: visible(named(skips, why)), n, look: 'skipped', group: 'Skipped' })),
    { key: 'failed', label: 'Failed: a side gave no response', n: ledger.failed, look: 'failed' },
    { key: 'shed', label: 'Shed: the queue was full or the monolith slow', n: ledger.shed, look: 'shed' },
    { key: 'pending', label: 'Under way', n: ledger.pending - unknown, look: 'pending' },
    { key: 'unknown', label: 'Unknown: of a silent gateway, or sent and not judged', n: unknown, look: 'pending' },
  ];
}

export const sum = list => list.reduce((n, p) => n + p.n, 0);

const Bar = ({ of, total }) => html`<span class="stack" aria-hidden="true">${of.filter(p => p.n > 0).map(p =>
  html`<span key=${p.key} class=${p.look} style=${{ flexGrow: p.n / total }}></span>`)}</span>`;

// LedgerLine is the ledger in a row of the overview. Skipped is one piece there.
export function LedgerLine({ ledger }) {
  if (!ledger.total) return html`<span class="quiet">no request yet</span>`;
  const list = parts(ledger), skipped = sum(list.filter(p => p.look === 'skipped'));
  const n = key => list.find(p => p.key === key).n;
  const words = [[ledger.compared, 'compared'], [skipped, 'skipped'], [ledger.failed, 'failed'], [ledger.shed, 'shed'], [n('pending'), 'under way'], [n('unknown'), 'unknown']]
    .filter(([n]) => n > 0).map(([n, word]) => `${count(n)} ${word}`).join(' + ');
  return html`<span class="ledger-line" title=${`${count(ledger.total)} = ${words}`}><${Bar} of=${list} total=${ledger.total} />
    <span class="of">${count(ledger.compared)}<span class="quiet"> of ${count(ledger.total)}</span></span><span class="unseen"> compared: ${words}</span></span>`;
}

// Counted says since when requests are counted, and which time is missing. An API
// that does not know since when shows nothing.
const Counted = ({ since, gap }) => since && html`<p class="counted quiet">Counted since <${At} at=${since} />.${gap && html` Requests from <${At} at=${gap.from} /> to <${At} at=${gap.to} /> ${gap.gateway && `at ${gap.gateway} `}are missing: whittle did not run, or ended before it had saved their counts.`}</p>`;

// Ledger shows every part, whether they add up, and since when they are counted.
export function Ledger({ ledger }) {
  const list = parts(ledger).filter(p => p.n > 0 || p.look === 'compared');
  const total = sum(list), whole = total === ledger.total;
  return html`<section class="card ledger" aria-labelledby="ledger-title">
    <h2 id="ledger-title">Ledger</h2>
    ${ledger.total === 0 ? html`<p class="empty">No request of this route has come yet. Each one will be counted here exactly once.</p>` : html`
    <${Bar} of=${list} total=${ledger.total} />
    <table><caption class="unseen">What became of every request</caption>
      <thead class="unseen"><tr><th scope="col">Part</th><th scope="col">Requests</th><th scope="col">Share</th></tr></thead>
      <tbody>${list.map(p => html`<tr key=${p.key}><th scope="row"><span class=${`swatch ${p.look}`} aria-hidden="true"></span>${p.label}</th>
        <td class="n">${count(p.n)}</td><td class="n quiet">${percent(p.n / ledger.total)}</td></tr>`)}</tbody>
      <tfoot><tr><th scope="row">Requests</th><td class="n">${count(ledger.total)}</td><td class="n">${whole ? html`<span class="good">adds up</span>` : ''}</td></tr></tfoot>
    </table>
    ${!whole && html`<p class="problem" role="alert">The parts add up to ${count(total)}, not to ${count(ledger.total)}. That is a bug in whittle.</p>`}`}
    <${Counted} since=${ledger.since} gap=${ledger.gap} />
  </section>`;
}
