import { html, useEffect, useErrorBoundary } from './dom.js';
import { Announcer } from './announcer.js';
import { Connection, LostBanner } from './connection.js';
import { Login } from './login.js';
import { Overview } from './overview.js';
import { place } from './router.js';
import { RoutePage } from './route_page.js';
import { ask, leave, session } from './session.js';
import { status } from './live.js';
import { useStore } from './store.js';
import { ThemeSwitch } from './theme.js';

export function App() {
  const who = useStore(session), name = useStore(place);
  useEffect(() => { ask(); }, []);
  return html`
    <a class="skip" href="#main" onClick=${e => { e.preventDefault(); document.getElementById('main').focus(); }}>Skip to the content</a>
    <${Header} who=${who} />
    <${Announcer} />
    <main id="main" tabindex="-1"><${Defended} key=${name}><${Main} who=${who} name=${name} /></${Defended}></main>`;
}

// Defended keeps a defect of the page's own from being a blank page.
function Defended({ children }) {
  const [defect] = useErrorBoundary(err => console.error(err));
  if (!defect) return children;
  return html`<div class="notice bad" role="alert"><h1>This page has a bug</h1><p>${String(defect)}. The gateway is not concerned; <code>whittle status</code> shows the same on a terminal.</p>
    <button type="button" onClick=${() => location.reload()}>Reload</button></div>`;
}

function Main({ who, name }) {
  if (!who) return html`<p class="quiet wait">Loading…</p>`;
  if (who.error) return html`<${Unreachable} problem=${who.error} />`;
  if (!who.role) return html`<${Login} />`;
  return html`<${LostBanner} />${name ? html`<${RoutePage} key=${name} name=${name} role=${who.role} />` : html`<${Overview} />`}`;
}

function Unreachable({ problem }) {
  useEffect(() => {
    const timer = setInterval(ask, 3000);
    return () => clearInterval(timer);
  }, []);
  return html`<div class="notice bad" role="alert"><h1>whittle does not respond</h1>
    <p>${problem.message}${problem.hint && `: ${problem.hint}`}. Asking again every 3 seconds.</p>
    <button type="button" onClick=${ask}>Try again</button></div>`;
}

function Header({ who }) {
  const known = useStore(status);
  return html`<header class="bar">
    <a class="brand" href="#/"><svg viewBox="0 0 32 18" width="32" height="18" aria-hidden="true"><rect class="m" x="1" y="3" width="12" height="12" /><path class="c" d="M24 1l8 8-8 8-8-8z" /></svg>whittle</a>
    ${known && html`<span class="version">${known.version.replace(/^whittle /, '')}</span>`}
    <span class="fill"></span>
    ${who?.role && html`<${Connection} />`}
    <${ThemeSwitch} />
    ${who?.role && who.needs_token && html`<span class="role">${who.role}</span><button type="button" class="plain" onClick=${leave}>Sign out</button>`}
  </header>`;
}
