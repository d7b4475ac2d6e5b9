import { html, useEffect, useId, useRef } from './dom.js';

// Dialog is a native modal one: Esc closes it, the focus stays inside, and goes
// back to where it was.
export function Dialog({ title, onClose, children, look = '' }) {
  const at = useRef(null), before = useRef(document.activeElement).current, id = useId();
  useEffect(() => {
    at.current.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${at} class=${look} aria-labelledby=${id} onClose=${onClose} onClick=${e => e.target === at.current && at.current.close()}>
    <div class="sheet"><div class="dialog-head"><h2 id=${id}>${title}</h2><button type="button" class="plain close" aria-label="Close" onClick=${() => at.current.close()}>×</button></div>
    ${children}</div>
  </dialog>`;
}

// opener is the focus's place to go back to: some browsers focus no button that
// is clicked.
export const opener = e => e.currentTarget.focus();

// dismiss closes the dialog that an event comes from.
export const dismiss = e => e.currentTarget.closest('dialog').close();
