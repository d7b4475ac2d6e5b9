import { html, useMemo, useState } from './dom.js';
import { BoundPlot, unit } from './bound_plot.js';
import { identified, seriesOf } from './bound_series.js';
import { Coverage } from './coverage.js';
import { count, named, percent, plural, visible } from './format.js';

// Evidence shows what the verdict stands on, and what could still differ.
export function Evidence({ evidence: e, past }) {
  const [by, setBy] = useState('time');
  const points = past?.evidence ?? [];
  return html`<section class="card evidence" aria-labelledby="evidence-title">
    <div class="card-head"><h2 id="evidence-title">Evidence</h2>
      ${points.length > 1 && html`<fieldset class="segments"><legend class="unseen">Drawn over</legend>
        ${[['time', 'Time'], ['compared', 'Exchanges']].map(([value, label]) => html`<label><input type="radio" name="over" value=${value} checked=${by === value} onChange=${() => setBy(value)} /><span>${label}</span></label>`)}</fieldset>`}</div>
    <p class="lead">${visible(e.summary)}</p>
    <dl class="facts">
      <div><dt>Compared</dt><dd>${count(e.compared)}</dd></div>
      <div><dt>Confidence</dt><dd>${percent(e.confidence)}</dd></div>
      <div><dt>${e.verdict === 'UNDECIDED' ? 'Still needed' : 'Decided'}</dt><dd>${e.verdict !== 'UNDECIDED' ? 'yes' : e.more_needed > 0 ? `about ${count(e.more_needed)}` : 'not known'}</dd></div>
      <div title="of the last few hundred requests, those of a shape that was not compared before"><dt>Unseen shapes</dt><dd>${e.compared ? percent(e.novelty) : '–'}</dd></div>
    </dl>
    <${Coverage} coverage=${e.coverage} />
    ${e.bounds.length > 0 && html`<h3>What could still differ</h3>`}
    <div class="bounds">${identified(e.bounds).map(b => html`<${Bound} key=${b.id} bound=${b} points=${points} by=${by} />`)}</div>
  </section>`;
}

const titles = { mean: 'Mean', spread: 'Spread', distribution: 'Distribution', 'share of responses': 'Share of responses', noise: 'Noise', form: 'Form' };
const titlesById = { exchanges: 'Status, headers and failures', 'header noise': 'Noise of headers' };

const titleOf = b => (Object.hasOwn(titlesById, b.id) ? titlesById[b.id] : named(titles, b.what));

function Bound({ bound: b, points, by }) {
  const series = useMemo(() => seriesOf(points, b), [points, b.id]);
  const title = titleOf(b);
  return html`<figure class="bound">
    <figcaption><h4>${visible(title)}</h4><span class=${b.inside ? 'inside' : 'outside'}>${b.inside ? '✓ inside the margin' : 'not inside yet'}</span></figcaption>
    ${series.length > 1 ? html`<${BoundPlot} bound=${b} title=${title} series=${series} by=${by} />` : html`<p class="quiet small">A plot appears once there are more exchanges.</p>`}
    <p class="small">${visible(b.summary)}</p>
    ${series.length > 1 && html`<${Table} bound=${b} title=${title} series=${series} />`}
  </figure>`;
}

// Table is the picture in figures, a dozen of its points.
function Table({ bound, title, series }) {
  const step = Math.max(1, Math.ceil(series.length / 12));
  const shown = series.filter((_, i) => (series.length - 1 - i) % step === 0);
  const f = unit(bound.what);
  return html`<details class="figures"><summary>Figures</summary><div class="scroll" tabindex="0" role="group" aria-label=${`Figures of ${title}`}><table>
    <caption>${visible(title)}: the interval at ${plural(shown.length, 'moment')}; margin ${f(bound.margin_low)} to ${f(bound.margin_high)}</caption>
    <thead><tr><th scope="col" class="n">Compared</th><th scope="col" class="n">Low</th><th scope="col" class="n">Estimate</th><th scope="col" class="n">High</th></tr></thead>
    <tbody>${shown.map(p => html`<tr><th scope="row" class="n">${count(p.compared)}</th><td class="n">${f(p.low)}</td><td class="n">${f(p.estimate)}</td><td class="n">${f(p.high)}</td></tr>`)}</tbody>
  </table></div></details>`;
}
