import { opener } from './dialog.js';
import { html, useState } from './dom.js';
import { OrderDialog } from './order_dialog.js';
import { orders, shownFor } from './orders.js';

// Controls are the orders. One that is barred can be reached by keyboard, and
// says why it is.
export function Controls({ route: r, role, onDone }) {
  const [verb, setVerb] = useState('');
  const viewer = role !== 'operator';
  const close = () => setVerb('');
  const list = shownFor(r).map(v => ({ verb: v, ...orders[v], why: viewer ? 'A viewer’s token can only look.' : orders[v].barred(r) }));
  const promote = list[0];
  return html`<div class="controls">
    <div class="buttons" role="group" aria-label="Orders">${list.map(o => html`<button type="button" key=${o.verb} data-verb=${o.verb} class=${o.verb === 'promote' ? 'first' : o.urgent ? 'danger' : ''}
      aria-disabled=${o.why ? 'true' : undefined} title=${o.why || undefined} aria-describedby=${o.why && (viewer || o === promote) ? 'why-barred' : undefined}
      onClick=${e => { opener(e); if (!o.why) setVerb(o.verb); }}>${o.label(r)}</button>`)}</div>
    ${viewer ? html`<p id="why-barred" class="quiet small">You are signed in as a viewer: orders need an operator’s token.</p>`
    : promote.why && html`<p id="why-barred" class="quiet small">No promotion: ${promote.why}</p>`}
    ${verb && html`<${OrderDialog} key=${verb} verb=${verb} route=${r} onClose=${close} onDone=${onDone} />`}
  </div>`;
}
