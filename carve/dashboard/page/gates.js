import { html } from './dom.js';
import { count, visible } from './format.js';
import { At } from './time.js';

const moments = { first: 'before the first users', step: 'before the next step', live: 'before the shift is over' };

// Gates shows what the next step waits for outside; nothing where there are none.
export function Gates({ gates }) {
  if (!gates?.length) return null;
  return html`<section class="card guards" aria-labelledby="gates-title">
    <h2 id="gates-title">Gates</h2>
    ${gates.map(g => html`<${Gate} key=${g.name} gate=${g} />`)}
  </section>`;
}

const Gate = ({ gate: g }) => html`<div class="guard">
  <div class="guard-head"><h3>${visible(g.name)}</h3>${g.open ? html`<span class="tag calm">open</span>` : html`<span class="tag suspected">${g.by_hand ? 'needs approval' : g.since ? 'waiting' : 'not asked yet'}</span>`}</div>
  <p class="small">${moments[g.before] ?? visible(g.before)}${g.since && html`, asked ${count(g.asked ?? 0)} times since <${At} at=${g.since} />`}${g.last && html`: ${visible(g.last)}`}</p>
</div>`;
