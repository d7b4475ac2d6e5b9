import { html, useState } from './dom.js';
import { basis, named, plural } from './format.js';
import { Ago, At } from './time.js';
import { Name, phases } from './words.js';

const few = 6;

// Timeline is every decision about a route, the last one first.
export function Timeline({ decisions }) {
  const [all, setAll] = useState(false);
  const list = [...decisions].reverse();
  const shown = all ? list : list.slice(0, few);
  return html`<section class="card timeline" aria-labelledby="timeline-title">
    <h2 id="timeline-title">Time line${list.length > 0 && html` <span class="n quiet">${list.length}</span>`}</h2>
    ${list.length === 0 ? html`<p class="empty">Nothing has been decided yet: the route is where it started.</p>` : html`<ol>${shown.map((d, i) => html`<${Decision} key=${list.length - i} decision=${d} latest=${i === 0} />`)}</ol>`}
    ${list.length > few && html`<button type="button" class="plain" aria-expanded=${all ? 'true' : 'false'} onClick=${() => setAll(!all)}>${all ? 'Show the latest only' : `Show all ${plural(list.length, 'decision')}`}</button>`}
  </section>`;
}

function Decision({ decision: d, latest }) {
  const way = d.to > d.from ? 'rise' : d.to < d.from ? 'fall' : 'stay';
  return html`<li class=${`${way} ${d.phase}`}>
    <div class="what"><span class="way" aria-hidden="true">${{ rise: '↑', fall: '↓', stay: '·' }[way]}</span>
      <strong>${way === 'stay' ? basis(d.to) : html`${basis(d.from)} → ${basis(d.to)}`}</strong> <span class="quiet">${named(phases, d.phase)}</span></div>
    <p><${Name} of=${d.reason} /></p>
    <p class="quiet small"><${At} at=${d.at} />${latest && html` (<${Ago} at=${d.at} />)`} by <${Name} of=${d.by} /></p>
  </li>`;
}
