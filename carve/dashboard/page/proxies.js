import { html } from './dom.js';
import { basis, visible } from './format.js';
import { At } from './time.js';

// Proxies shows which share each proxy has; nothing where whittle itself sends users to the candidate.
export function Proxies({ steer }) {
  if (!steer) return null;
  return html`<section class="card guards" aria-labelledby="proxies-title">
    <h2 id="proxies-title">Proxies</h2>
    ${steer.proxies.map(p => html`<${Proxy} key=${p.name} proxy=${p} />`)}
  </section>`;
}

const Proxy = ({ proxy: p }) => html`<div class="guard">
  <div class="guard-head"><h3>${visible(p.name)}</h3>${p.confirmed ? html`<span class="tag calm">confirmed</span>` : html`<span class="tag suspected">not confirmed</span>`}</div>
  <p class="small">${p.read ? html`${basis(p.share_bp)} at <${At} at=${p.read} />` : 'its share is not known yet'}${p.trouble && html`: ${visible(p.trouble)}`}${p.note && html`; ${visible(p.note)}`}</p>
</div>`;
