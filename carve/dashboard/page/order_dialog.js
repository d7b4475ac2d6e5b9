import { giveOrder } from './api.js';
import { said } from './announcer.js';
import { dismiss, Dialog } from './dialog.js';
import { html, useId, useRef, useState } from './dom.js';
import { basis, visible } from './format.js';
import { recall, remember } from './memory.js';
import { orders } from './orders.js';
import { Phase, Verdict } from './words.js';

// OrderDialog asks once more, and for the reason that is kept in the time line.
export function OrderDialog({ verb, route: r, onClose, onDone }) {
  const o = orders[verb], first = useRef(r), id = useId();
  const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false);
  const [force, setForce] = useState(false);
  const mustForce = o.forced?.(r);
  // A promotion is of the step that was looked at. What puts users back on the
  // monolith is never in the way of itself.
  const moved = verb === 'promote' && (first.current.share_bp !== r.share_bp || first.current.phase !== r.phase);
  async function submit(e) {
    e.preventDefault();
    if (busy) return;
    const at = e.currentTarget, form = new FormData(at);
    const by = form.get('by').trim(), reason = form.get('reason').trim();
    remember('by', by);
    setBusy(true);
    setProblem(null);
    try {
      const now = await giveOrder(r.route, verb, { reason, by, ...(mustForce ? { force } : {}), ...(verb === 'promote' && first.current.next_bp ? { to_bp: first.current.next_bp } : {}) });
      said.set(`${visible(r.route)}: ${o.done(r, now)}.`);
      onDone(now);
      at.closest('dialog').close();
    } catch (err) {
      setBusy(false);
      setProblem(err);
    }
  }
  const again = () => { first.current = r; setProblem(null); setForce(false); };
  return html`<${Dialog} title=${`${o.title(r)}: ${visible(r.route)}`} onClose=${onClose} look=${o.danger ? 'order dangerous' : 'order'}>
    <form onSubmit=${submit}>
      <p class="now"><${Verdict} state=${r.evidence.verdict} /> <${Phase} route=${r} /> <span>candidate serves <strong>${basis(r.share_bp)}</strong></span></p>
      <p>${o.does(r)}</p>
      ${verb === 'promote' && html`<p class="quiet">${visible(r.next)}</p>`}
      ${mustForce && html`<label class="check notice warn"><input type="checkbox" name="force" required checked=${force} onChange=${e => setForce(e.currentTarget.checked)} />
        <span>Force it: ${r.evidence.verdict === 'UNDECIDED' ? 'the verdict is still UNDECIDED' : visible(r.withheld)}. The reason is required, and kept.</span></label>`}
      <label for=${`${id}r`}>Reason ${mustForce ? '' : html`<span class="quiet">(optional, kept in the time line)</span>`}</label>
      <input id=${`${id}r`} name="reason" maxlength="400" autocomplete="off" autofocus required=${Boolean(mustForce)} />
      <label for=${`${id}b`}>Your name <span class="quiet">(optional, kept with it)</span></label>
      <input id=${`${id}b`} name="by" maxlength="80" autocomplete="name" defaultValue=${recall('by')} />
      <div class="problem" role="alert">${problem && html`<p><strong>Refused:</strong> ${visible(problem.message)}${problem.hint && html`<br /><span class="quiet">${visible(problem.hint)}</span>`}</p>`}
        ${moved && html`<p>The route has changed since you opened this: it is at ${basis(r.share_bp)} now. <button type="button" onClick=${again}>Continue with that</button></p>`}</div>
      <div class="buttons"><button type="button" onClick=${dismiss}>Cancel</button>
        <button class=${o.danger ? 'first danger' : 'first'} disabled=${busy || moved}>${busy ? 'Sending…' : o.title(r)}</button></div>
    </form>
  </${Dialog}>`;
}
