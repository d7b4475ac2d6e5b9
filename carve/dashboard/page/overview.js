import { html, useEffect, useMemo } from './dom.js';
import { Fleet } from './fleet.js';
import { count, percent, plural, rate } from './format.js';
import { status } from './live.js';
import { arrange, filters, sorts } from './overview_order.js';
import { OverviewTable } from './overview_table.js';
import { store, useStore } from './store.js';
import { useNow } from './time.js';

// view is what the reader chose; it outlives a visit to a route.
const view = store({ filter: 'all', search: '', sort: 'attention', reverse: false });
const change = part => view.set({ ...view.get(), ...part });

// still is how long the rows keep their order, in ms: figures are live, but no
// row runs away from under a finger.
const still = 10_000;

export function Overview() {
  const known = useStore(status), chosen = useStore(view);
  const turn = Math.floor(useNow() / still);
  useEffect(() => { document.title = 'Routes – whittle'; }, []);
  const routes = known?.routes ?? [];
  const names = useMemo(() => arrange(routes, chosen), [chosen, turn, routes.length]);
  const byName = useMemo(() => new Map(routes.map(r => [r.route, r])), [known]);
  if (!known) return html`<h1>Routes</h1><p class="quiet wait">Waiting for the first status…</p>`;
  if (!routes.length) return html`<h1>Routes</h1><${NoRoutes} />`;
  const shown = names.filter(n => byName.has(n));
  return html`<div class="overview">
    <div class="overview-head"><h1>Routes</h1><${Totals} routes=${routes} /></div>
    ${known.fleet && html`<${Fleet} fleet=${known.fleet} />`}
    <${Tools} routes=${routes} chosen=${chosen} />
    <p class="unseen" role="status">${plural(shown.length, 'route')} shown</p>
    ${shown.length ? html`<${OverviewTable} names=${shown} byName=${byName} sort=${chosen.sort} reverse=${chosen.reverse} onSort=${sortBy} />` : html`
      <div class="empty card"><p>No route fits${chosen.search ? html` <q>${chosen.search}</q>` : ''}${chosen.filter !== 'all' ? ' in this selection' : ''}.</p>
        <button type="button" onClick=${() => change({ filter: 'all', search: '' })}>Show all ${plural(routes.length, 'route')}</button></div>`}
  </div>`;
}

const sortBy = key => change({ sort: key, reverse: view.get().sort === key && !view.get().reverse });

function Totals({ routes }) {
  const all = { monolith: 0, candidate: 0 };
  for (const r of routes) {
    all.monolith += r.monolith.per_second;
    all.candidate += r.candidate.per_second;
  }
  const sum = all.monolith + all.candidate;
  return html`<p class="totals">${plural(routes.length, 'route')} with a candidate · ${rate(sum)} requests/s${sum > 0 ? html`, the candidates serve <strong>${percent(all.candidate / sum)}</strong>` : ''}</p>`;
}

function Tools({ routes, chosen }) {
  const counts = filters.map(f => [f, routes.reduce((n, r) => n + f.takes(r), 0)]);
  return html`<div class="tools">
    <label class="search"><span class="unseen">Search routes</span>
      <input type="search" name="search" placeholder="Search routes" spellcheck="false" autocomplete="off" maxlength="200" value=${chosen.search} onInput=${e => change({ search: e.currentTarget.value })} /></label>
    <div class="chips" role="group" aria-label="Show">${counts.filter(([f, n]) => n > 0 || f.key === chosen.filter || f.key === 'all').map(([f, n]) => html`
      <button type="button" key=${f.key} class=${`chip ${f.key}`} aria-pressed=${f.key === chosen.filter ? 'true' : 'false'} onClick=${() => change({ filter: f.key })}>${f.label} <span class="n">${count(n)}</span></button>`)}</div>
    <label class="sort">Sort by <select name="sort" value=${chosen.sort} onChange=${e => change({ sort: e.currentTarget.value, reverse: false })}>
      ${Object.entries(sorts).map(([key, s]) => html`<option value=${key}>${s.label}</option>`)}</select></label>
  </div>`;
}

const NoRoutes = () => html`<div class="empty card">
  <p><strong>No route has a candidate yet.</strong> Every request passes to the monolith untouched.</p>
  <p>Name one in the config, and whittle begins to compare:</p>
  <pre><code>routes:
  - match: GET /things/{id}
    candidate: http://127.0.0.1:8090</code></pre>
</div>`;
