import { html } from './dom.js';
import { count, plural, visible } from './format.js';

// Coverage lists what of the bodies the verdict stands on: how many fields are
// compared by value, and which ones by form or not at all.
export function Coverage({ coverage: c }) {
  if (!c) return null;
  const fields = c.whole_body ? 'the whole body' : `${c.at_least ? 'at least ' : ''}${plural(c.by_value, 'field')}`;
  const short = `${fields} compared by value, ${count(c.by_form.length)} by form, ${count(c.not_compared.length)} not compared`;
  if (c.by_form.length + c.not_compared.length === 0) return html`<p class="small coverage">${short}</p>`;
  return html`<details class="figures coverage"><summary>${short}</summary><div class="scroll" tabindex="0" role="group" aria-label="Fields not compared by value"><table>
    <caption>Fields that are not compared by value</caption>
    <thead><tr><th scope="col">Field</th><th scope="col">Compared</th><th scope="col">The monolith’s values</th></tr></thead>
    <tbody>
      ${c.by_form.map(f => html`<tr key=${f.path}><th scope="row"><code>${visible(f.path)}</code></th><td>by form${f.declared ? ', declared' : ''}</td><td>${visible(f.form)}</td></tr>`)}
      ${c.not_compared.map(f => html`<tr key=${f.path}><th scope="row"><code>${visible(f.path)}</code></th><td>no</td><td>${visible(f.reason)}</td></tr>`)}
    </tbody>
  </table></div></details>`;
}
