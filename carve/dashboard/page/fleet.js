import { html } from './dom.js';
import { count, plural, span } from './format.js';

// Fleet shows the gateways that make one rollout, and what is wrong with them. What is
// wrong is said at once; the gateways are listed for who asks.
export function Fleet({ fleet: f }) {
  return html`<section class="fleet card" aria-label="Fleet">
    <details>
      <summary><strong>Fleet ${f.name}</strong>: ${plural(f.gateways, 'gateway')}, ${f.leader ? html`<span class="leader">${f.leader}</span> leads` : 'nobody leads'}; this is ${f.member}</summary>
      <div class="members"><table>
        <thead><tr><th scope="col">Gateway</th><th scope="col">State</th><th scope="col">Reported</th><th scope="col" class="n">Routes</th><th scope="col" class="n">Requests</th><th scope="col">Version</th></tr></thead>
        <tbody>${f.members.map(m => html`<${Member} key=${m.name} of=${m} />`)}</tbody>
      </table></div>
      ${f.gateways > f.members.length && html`<p class="quiet">${count(f.gateways - f.members.length)} more without a problem: <code>whittle fleet</code> lists them.</p>`}
    </details>
    ${f.wrong.length > 0 && html`<ul class="wrong" role="status">${f.wrong.slice(0, most).map(text => html`<li key=${text}>${text}</li>`)}
      ${f.wrong.length > most && html`<li>${count(f.wrong.length - most)} more: <code>whittle fleet</code> lists them.</li>`}</ul>`}
  </section>`;
}

const most = 5; // sentences at once

function Member({ of: m }) {
  return html`<tr class=${m.alive && m.connected ? '' : 'bad'}>
    <th scope="row">${m.name}</th><td>${state(m)}</td><td>${span(m.silent_s * 1000)} ago</td>
    <td class="n">${routes(m)}</td><td class="n">${count(m.routes.reduce((n, r) => n + r.requests, 0))}</td><td>${m.version.replace(/^whittle /, '')}</td>
  </tr>`;
}

const state = m => (!m.alive ? 'silent' : !m.connected ? 'cut off' : m.leads ? 'leads' : 'connected');

// routes says in how many of its routes a gateway is where the fleet is.
function routes(m) {
  const good = m.routes.filter(r => !r.lag && !r.other_config && !r.trip).length;
  return good === m.routes.length ? count(good) : `${count(good)} of ${count(m.routes.length)}`;
}
