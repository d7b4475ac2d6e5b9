import { AcceptDialog } from './accept.js';
import { opener } from './dialog.js';
import { html, useState } from './dom.js';
import { count, digits, named, percent, visible } from './format.js';
import { Sample } from './sample.js';
import { findingKinds, Name, Side } from './words.js';

// Finding is one difference: its sentence, and opened its grounds and samples.
export function Finding({ finding: f }) {
  const [accepting, setAccepting] = useState(false), [open, setOpen] = useState(false);
  const state = f.expected ? 'expected' : f.decided ? 'decided' : 'suspected';
  return html`<li class=${`finding ${state}`}>
    <details onToggle=${e => setOpen(e.currentTarget.open)}>
      <summary><span class="tags"><span class="tag kind">${named(findingKinds, f.kind)}</span><${State} state=${state} f=${f} /></span>
        <span class="sentence"><${Sentence} of=${f} /></span>
        <span class="often" title=${`${count(f.count)} of ${count(f.of)}`}>${f.count > 0 ? percent(f.count / f.of) : ''}</span></summary>
      ${open && html`<div class="grounds-of">
        ${f.expected && html`<p><strong>Accepted:</strong> <${Name} of=${f.expected} /></p>`}
        ${f.cause && html`<p><strong>Likely cause:</strong> <${Name} of=${f.cause} /></p>`}
        <dl class="facts">
          ${(f.monolith || f.candidate) && html`<div><dt><${Side} of="monolith" /></dt><dd>${visible(f.monolith || '–')}</dd></div><div><dt><${Side} of="candidate" /></dt><dd>${visible(f.candidate || '–')}</dd></div>`}
          ${f.count > 0 && html`<div><dt>Seen in</dt><dd>${count(f.count)} of ${count(f.of)}</dd></div>`}
          ${f.decided_at > 0 && html`<div><dt>Shown after</dt><dd>${count(f.decided_at)} exchanges</dd></div>`}
          ${f.e_value > 0 && html`<div><dt>Evidence (e-value)</dt><dd>${digits(f.e_value)}</dd></div>`}
        </dl>
        ${f.samples?.length ? f.samples.map((s, i) => html`<${Sample} sample=${s} number=${i + 1} />`) : html`<p class="quiet">No sample was kept: this is about many responses together.</p>`}
        ${!f.expected && html`<p><button type="button" onClick=${e => { opener(e); setAccepting(true); }}>Accept as intended…</button></p>`}
      </div>`}
    </details>
    ${accepting && html`<${AcceptDialog} finding=${f} onClose=${() => setAccepting(false)} />`}
  </li>`;
}

// Sentence sets off the place that a sentence is about, or names it before.
function Sentence({ of: f }) {
  if (!f.path || (f.summary.includes(f.path) && !f.summary.startsWith(f.path))) return html`<${Name} of=${f.summary} />`;
  const rest = f.summary.startsWith(f.path) ? f.summary.slice(f.path.length) : ` ${f.summary}`;
  return html`<code class="path"><${Name} of=${f.path} /></code><${Name} of=${rest} />`;
}

const State = ({ state }) => (state === 'expected' ? html`<span class="tag intended">intended</span>`
  : state === 'decided' ? html`<span class="tag shown">shown</span>`
    : html`<span class="tag suspected">suspected</span>`);
