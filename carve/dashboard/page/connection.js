import { html } from './dom.js';
import { span } from './format.js';
import { lastHeard, link, retryNow } from './live.js';
import { useStore } from './store.js';
import { At, hour, useNow } from './time.js';

// Connection says at the top of every page whether what is shown is of now.
export function Connection() {
  const now = useStore(link);
  if (now.kind === 'live') return html`<span class="link live" title="Changes are shown as they come"><span class="dot" aria-hidden="true"></span>Live</span>`;
  if (now.kind === 'lost') return html`<span class="link lost"><span class="dot" aria-hidden="true"></span>Connection lost</span>`;
  return html`<span class="link"><span class="dot" aria-hidden="true"></span>Connecting…</span>`;
}

// LostBanner says since when nothing is known, and what is done about it.
export function LostBanner() {
  const state = useStore(link);
  return html`<div role="alert" class="lost-place">${state.kind === 'lost' && html`<${Lost} state=${state} />`}</div>`;
}

function Lost({ state }) {
  return html`<div class="notice bad lost-banner">
    <p><strong>Connection lost</strong> since <${At} at=${state.since} />: ${state.why}. ${lastHeard() ? `What you see is as of ${hour(state.since)}.` : 'Nothing has been received yet.'}</p>
    <${Countdown} state=${state} />
    <button type="button" onClick=${retryNow}>Retry now</button>
  </div>`;
}

// The seconds are not read out: an alert every second helps nobody.
function Countdown({ state }) {
  const now = useNow();
  const next = state.retryAt > now ? `retrying in ${span(state.retryAt - now)}` : 'retrying…';
  return html`<p class="countdown" aria-hidden="true">${span(now - state.since)} ago, ${next}</p>`;
}
