import { dismiss, Dialog } from './dialog.js';
import { html, useId, useRef, useState } from './dom.js';
import { entry, narrowing } from './expectation.js';
import { visible } from './format.js';

const parts = { path: 'Only at', from: 'Only where the monolith says', to: 'Only where the candidate says' };

// AcceptDialog makes the config's line that declares a difference as intended.
// The page changes no config: what is intended belongs under version control.
export function AcceptDialog({ finding, onClose }) {
  const can = narrowing(finding);
  const [narrowed, setNarrowed] = useState({ path: true, from: finding.kind === 'status', to: finding.kind === 'status' });
  const [reason, setReason] = useState('');
  const id = useId();
  const chosen = Object.fromEntries(Object.keys(parts).map(p => [p, narrowed[p] ? can[p] : '']));
  const line = entry({ kind: finding.kind, ...chosen, reason: reason.trim() || 'why it is intended' });
  const wide = !chosen.path && !chosen.from && !chosen.to;
  return html`<${Dialog} title="Accept as intended" onClose=${onClose} look="accept">
    <p>Put this under the route’s <code>compare.expect</code>. whittle reads the config again by itself; the difference stays listed, and no longer counts against the candidate.</p>
    <label for=${id}>Reason <span class="quiet">(shown wherever the difference is)</span></label>
    <input id=${id} value=${reason} maxlength="500" autocomplete="off" autofocus placeholder="why it is intended" onInput=${e => setReason(e.currentTarget.value)} />
    ${Object.entries(parts).filter(([p]) => can[p]).map(([p, label]) => html`<label class="check"><input type="checkbox" checked=${narrowed[p]} onChange=${e => setNarrowed({ ...narrowed, [p]: e.currentTarget.checked })} /> <span>${label} <code>${visible(can[p])}</code></span></label>`)}
    ${wide && html`<p class="notice warn">This accepts every finding of the kind <code>${finding.kind}</code> on this route.</p>`}
    <${Copied} key=${line} text=${`compare:\n  expect:\n    ${line}`} line=${line} />
    <div class="buttons"><button type="button" onClick=${dismiss}>Done</button></div>
  </${Dialog}>`;
}

function Copied({ text, line }) {
  const [told, setTold] = useState('');
  const code = useRef(null);
  async function copy() {
    try {
      await navigator.clipboard.writeText(line);
      setTold('Copied.');
    } catch { // not over plain HTTP from elsewhere, or not allowed
      getSelection().selectAllChildren(code.current);
      setTold('Selected: copy it with Ctrl+C or ⌘C.');
    }
  }
  const cut = text.length - line.length;
  return html`<pre class="yaml" tabindex="0" aria-label="Entry for the config"><code><span class="quiet">${text.slice(0, cut)}</span><span ref=${code} class="line">${line}</span></code></pre>
    <div class="copy"><button type="button" class="first" onClick=${copy}>Copy the line</button><span role="status">${told}</span></div>`;
}
