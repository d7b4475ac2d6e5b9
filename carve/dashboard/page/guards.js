import { html } from './dom.js';
import { digits, millis, percent, plural, visible } from './format.js';
import { Side } from './words.js';

const kinds = {
  errors: { title: 'Errors', write: percent },
  p99: { title: 'p99 latency', write: millis },
  mismatch: { title: 'Mismatches', write: percent },
};

// Guards shows how near each guard is to ending the shift.
export function Guards({ guards, phase }) {
  return html`<section class="card guards" aria-labelledby="guards-title">
    <h2 id="guards-title">Guards</h2>
    ${guards.length ? guards.map(g => html`<${Guard} key=${g.name} guard=${g} />`)
    : html`<p class="empty">${phase === 'shift' || phase === 'live' ? 'No guard has a reading yet.' : 'Guards watch while the candidate serves users.'}</p>`}
  </section>`;
}

function Guard({ guard: g }) {
  const { title, write } = Object.hasOwn(kinds, g.name) ? kinds[g.name]
    : { title: visible(g.name), write: g.name.startsWith('query ') && g.threshold > 1 ? percent : digits };
  const near = nearness(g);
  return html`<div class=${`guard ${g.breached ? 'breached' : near > 0.75 ? 'near' : ''}`}>
    <div class="guard-head"><h3>${title}</h3>${g.breached ? html`<span class="tag shown">breached</span>` : near > 0.75 ? html`<span class="tag suspected">near</span>` : html`<span class="tag calm">${!g.count ? 'no responses yet' : g.threshold > 1 && g.candidate > g.limit ? 'above, not proven' : 'within'}</span>`}</div>
    <${Reading} guard=${g} title=${title} write=${write} />
    <${Weight} guard=${g} title=${title} near=${near} />
    <details class="figures"><summary>In words</summary><p class="small">${visible(g.summary)}</p></details>
  </div>`;
}

// Reading is the candidate's figure against its limit, with the monolith's mark.
function Reading({ guard: g, title, write }) {
  const full = Math.max(g.limit * 1.25, g.candidate * 1.05, g.monolith * 1.05) || 1;
  const at = v => `${Math.min(100, 100 * v / full)}%`;
  return html`<div class="reading"><span class="of"><strong>${write(g.candidate)}</strong> <span class="quiet">limit ${write(g.limit)}</span>${!alone(g) && html`<span class="other-side"><${Side} of="monolith" /> ${write(g.monolith)}</span>`}</span>
    <div class="gauge" role="meter" aria-label=${`${title}: the candidate’s figure`} aria-valuemin="0" aria-valuemax=${full} aria-valuenow=${Math.min(g.candidate, full)}
      aria-valuetext=${`${write(g.candidate)}, limit ${write(g.limit)}${alone(g) ? '' : `, monolith ${write(g.monolith)}`}`}>
      <span class="value" style=${{ width: at(g.candidate) }}></span><span class="limit" style=${{ left: at(g.limit) }}></span>
      ${!alone(g) && html`<span class="monolith-mark" style=${{ left: at(g.monolith) }} title=${`monolith ${write(g.monolith)}`}></span>`}</div></div>`;
}

// alone are figures that stand without the monolith's.
const alone = g => g.name === 'mismatch' || (!(g.threshold > 1) && !g.monolith);

// nearness is how much of the way to the threshold the evidence has gone, 0 to
// 1, on a logarithmic scale: evidence multiplies.
export function nearness(g) {
  if (!(g.e_value > 1) || !(g.threshold > 1)) return 0;
  return Math.min(1, Math.log(g.e_value) / Math.log(g.threshold));
}

// Weight is the evidence that the limit is passed, on its logarithmic scale.
const Weight = ({ guard: g, title, near }) => !(g.threshold > 1) ? html`<p class="quiet small">A limit rule: no error rate is claimed.</p>` : html`<div class="weight">
  <span class="of quiet">evidence ${digits(g.e_value)} of ${digits(g.threshold)}</span>
  <div class="gauge log" role="meter" aria-label=${`${title}: evidence that the limit is passed, logarithmic`} aria-valuemin="0" aria-valuemax="1" aria-valuenow=${near}
    aria-valuetext=${`${digits(g.e_value)} of ${digits(g.threshold)}`}><span class="value" style=${{ width: `${100 * near}%` }}></span>
    ${ticks(g.threshold).map(t => html`<span class="tick" style=${{ left: `${100 * t}%` }}></span>`)}</div>
  <span class="quiet small">${plural(g.count, 'response')}</span></div>`;

// ticks are the powers of ten on the way to a threshold, 0 to 1.
function ticks(threshold) {
  const list = [];
  for (let p = 10; p < threshold && list.length < 20; p *= 10) list.push(Math.log(p) / Math.log(threshold));
  return list;
}
