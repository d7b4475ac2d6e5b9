import { html } from './dom.js';
import { count, percent, visible } from './format.js';

// Harm shows the budget of users' wrong responses, what of it is spent, and what the
// next step waits for.
export function Harm({ harm: h, phase }) {
  if (!h || !(h.budget > 0)) return null;
  const on = phase === 'shift' || phase === 'live';
  return html`<section class="card guards harm" aria-labelledby="harm-title">
    <h2 id="harm-title">Harm budget</h2>
    ${on ? html`<${Bar} title="Spent by the share in force" part=${h.spent} budget=${h.budget} />
      ${h.next > 0 && html`<${Bar} title="The next step would take up to" part=${h.next} budget=${h.budget} />`}
      <p class="small quiet">${count(h.compared)} of the candidate’s responses to users compared, ${count(h.differing)} of them differ; ${count(h.users)} users compared; the bound is over ${visible(h.binds)}${waiting(h)}</p>`
    : html`<p class="empty">No user is on the candidate.</p>`}
    <details class="figures"><summary>In words</summary><p class="small">${visible(h.summary)}</p></details>
  </section>`;
}

// Bar is a share of the requests against the budget.
function Bar({ title, part, budget }) {
  const full = Math.max(budget * 1.25, part * 1.05);
  const over = part > budget;
  return html`<div class=${`guard ${over ? 'near' : ''}`}><div class="reading"><span class="of">${title} <strong>${percent(part)}</strong> <span class="quiet">budget ${percent(budget)}</span></span>
    <div class="gauge" role="meter" aria-label=${title} aria-valuemin="0" aria-valuemax=${full} aria-valuenow=${part} aria-valuetext=${`${percent(part)} of a budget of ${percent(budget)}`}>
      <span class="value" style=${{ width: `${100 * part / full}%` }}></span><span class="limit" style=${{ left: `${100 * budget / full}%` }}></span></div></div></div>`;
}

// waiting says what the next step needs.
export function waiting(h) {
  if (!(h.next > h.budget)) return '';
  if (h.needed < 0) return '; what differs has to be explained before the next step';
  if (!(h.needed > 0)) return '';
  return `; the next step takes ${count(h.needed)} more${h.minutes >= 0 ? `, about ${h.minutes < 1 ? 'a minute' : `${count(Math.ceil(h.minutes))} minutes`} at today’s rate` : ''}`;
}
