import { html, useEffect, useRef, useState } from './dom.js';
import { enter } from './session.js';

export function Login() {
  const [problem, setProblem] = useState(null), [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    document.title = 'Sign in – whittle';
    field.current.focus();
  }, []);
  async function submit(e) {
    e.preventDefault();
    const token = field.current.value.trim();
    if (!token || busy) return;
    setBusy(true);
    try {
      await enter(token);
    } catch (err) {
      setBusy(false);
      setProblem(err.code === 'unauthenticated' ? { message: 'This token is not known.', hint: '' } : err);
      field.current.select();
    }
  }
  return html`<form class="login" onSubmit=${submit}>
    <h1>Sign in</h1>
    <p id="token-hint">With an operator’s token you can promote and roll back; a viewer’s token can only look.</p>
    <label for="token">Token</label>
    <input id="token" ref=${field} type="password" autocomplete="current-password" required spellcheck="false" aria-describedby="token-hint"
      aria-invalid=${problem ? 'true' : undefined} aria-errormessage="token-problem" />
    <p id="token-problem" class="problem" role="alert">${problem && `${problem.message} ${problem.hint}`}</p>
    <button class="first" disabled=${busy}>${busy ? 'Signing in…' : 'Sign in'}</button>
    <p class="quiet">The tokens are set under <code>admin</code> in the config. Yours never appears in a URL: until you sign out, a cookie that scripts cannot read stands for it.</p>
  </form>`;
}
