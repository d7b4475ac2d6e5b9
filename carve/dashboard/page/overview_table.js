import { html, useMemo, useRef } from './dom.js';
import { basis, count, digits, percent, plural, rate, visible } from './format.js';
import { LedgerLine } from './ledger.js';
import { shown } from './overview_order.js';
import { routeHref } from './router.js';
import { useTurn } from './turns.js';
import { Name, Phase, Side, Verdict } from './words.js';

// pairs are the figures that both sides have, always the monolith's first.
const pairs = [
  { key: 'requests', label: 'Requests/s', of: t => rate(t.per_second) },
  { key: 'errors', label: 'Errors', of: t => (asked(t) ? percent(t.errors) : '–') },
  { key: 'p50', label: 'p50, ms', of: t => figure(t.p50_ms) },
  { key: 'p99', label: 'p99, ms', of: t => figure(t.p99_ms) },
];
// asked says whether a side was asked anything lately, by users or as mirrored requests.
const asked = t => t.per_second + t.mirrored_per_second > 0;
const figure = n => (n > 0 ? digits(n) : '–');

// Roles are spelled out because the narrow layout takes the rows apart, and
// some browsers then forget that this is a table.
export function OverviewTable({ names, byName, sort, reverse, onSort }) {
  const head = { sort, reverse, onSort };
  return html`<div class="wide"><table class="routes" role="table">
    <caption class="unseen">Routes: share, verdict, ledger, and what both sides did in the last ten seconds</caption>
    <thead role="rowgroup">
      <tr role="row">
        <${Head} ...${head} by="name" rows>Route</${Head}><${Head} ...${head} by="share" rows>Share</${Head}>
        <${Head} ...${head} by="verdict" rows>Verdict</${Head}><${Head} ...${head} by="compared" rows>Compared</${Head}>
        ${pairs.map(p => html`<${Head} ...${head} by=${p.key === 'p50' ? '' : p.key} title=${p.title} pair>${p.label}</${Head}>`)}
      </tr>
      <tr role="row">${pairs.map(() => html`<th role="columnheader" scope="col" class="n first-of-two"><${Side} of="monolith" short /></th><th role="columnheader" scope="col" class="n"><${Side} of="candidate" short /></th>`)}</tr>
    </thead>
    <tbody role="rowgroup">${names.map(n => html`<${Row} key=${n} route=${byName.get(n)} />`)}</tbody>
  </table></div>`;
}

function Head({ by, sort, reverse, onSort, rows, pair, title, children }) {
  const sorted = by && sort === by;
  const down = ['share', 'compared', 'requests', 'errors', 'p99'].includes(by) !== reverse;
  return html`<th role="columnheader" scope=${pair ? 'colgroup' : 'col'} rowspan=${rows ? 2 : 1} colspan=${pair ? 2 : 1} class=${pair ? 'pair' : ''} title=${title}
    aria-sort=${sorted ? (down ? 'descending' : 'ascending') : undefined}>${by
    ? html`<button type="button" class="head" onClick=${() => onSort(by)}>${children}<span class="arrow" aria-hidden="true">${sorted ? (down ? '↓' : '↑') : ''}</span></button>`
    : children}</th>`;
}

// Row is drawn again only when its route has changed, and in its turn: the same
// element is the sign to leave it alone.
function Row({ route }) {
  const at = useRef(null), r = useTurn(route, at);
  const silent = !asked(r.monolith) && !asked(r.candidate);
  return useMemo(() => html`<tr role="row" ref=${at} class=${silent ? 'silent' : ''}>
    <th role="rowheader" scope="row" class="name"><a href=${routeHref(r.route)} title=${visible(r.route)}><${Name} of=${r.route} /></a><span class="next" title=${r.next}>${r.next}</span></th>
    <td role="cell" class="share"><span class="share-line"><span class="meter" aria-hidden="true"><span style=${{ width: `${r.share_bp / 100}%` }}></span></span>${basis(r.share_bp)}</span><${Phase} route=${r} /></td>
    <td role="cell" class="verdict-cell"><${Verdict} state=${r.evidence.verdict} /><${Grounds} route=${r} /></td>
    <td role="cell" class="ledger-cell"><${LedgerLine} ledger=${r.ledger} /></td>
    ${pairs.map(p => html`<td role="cell" class=${`n first-of-two ${p.key}`} data-label=${p.label}><span class="figure"><span class="mark monolith" aria-hidden="true"></span>${p.of(r.monolith)}</span></td><td role="cell" class=${`n second-of-two ${p.key}`}><span class="figure"><span class="mark candidate" aria-hidden="true"></span>${p.of(r.candidate)}</span></td>`)}
  </tr>`, [r]);
}

// Grounds says in few words what to look at.
function Grounds({ route: r }) {
  const breached = r.guards.filter(g => g.breached).map(g => g.name);
  const found = shown(r);
  if (breached.length) return html`<span class="grounds bad">guard: ${breached.join(', ')}</span>`;
  if (found) return html`<span class="grounds bad">${plural(found, 'finding')}</span>`;
  if (r.evidence.verdict === 'UNDECIDED' && r.evidence.more_needed > 0) return html`<span class="grounds">${count(r.evidence.more_needed)} more needed</span>`;
  return null;
}
