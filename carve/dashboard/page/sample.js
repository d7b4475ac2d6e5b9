import { diffJSON } from './diff_json.js';
import { diffText } from './diff_text.js';
import { html, useMemo } from './dom.js';
import { visible } from './format.js';
import { At } from './time.js';
import { Side } from './words.js';

const marks = {
  changed: { sign: '≠', word: 'differs' }, missing: { sign: '−', word: 'only the monolith has it' },
  extra: { sign: '+', word: 'only the candidate has it' }, cut: { sign: '…', word: 'the sample ends here' },
};

// Sample shows one exchange: what was asked, and the place that differs with both
// values there. Where no place is known, and folded away where one is, both
// responses' beginnings side by side with what differs marked.
export function Sample({ sample, number }) {
  const place = sample.monolith_value || sample.candidate_value;
  return html`<figure class="sample">
    <figcaption><span class="quiet">Sample ${number}, <${At} at=${sample.at} /></span> <code class="request">${visible(sample.request)}</code></figcaption>
    ${place ? html`<${Place} sample=${sample} /><details class="begins"><summary>The responses' beginnings</summary><${Bodies} sample=${sample} /></details>` : html`<${Bodies} sample=${sample} />`}
  </figure>`;
}

// Place is where the two differ, and what stands there.
const Place = ({ sample: s }) => html`<p class="place"><span class="quiet">At</span> <code>${visible(s.where)}</code></p>
  <${Texts} monolith=${s.monolith_value} candidate=${s.candidate_value} />`;

function Bodies({ sample }) {
  const lines = useMemo(() => diffJSON(sample.monolith, sample.candidate), [sample.monolith, sample.candidate]);
  return lines ? html`<${Lines} lines=${lines} />` : html`<${Texts} monolith=${sample.monolith} candidate=${sample.candidate} />`;
}

const Heads = () => html`<thead><tr><th scope="col"><${Side} of="monolith" /></th><th scope="col"><${Side} of="candidate" /></th></tr></thead>`;

// Lines is a JSON response, member by member.
const Lines = ({ lines }) => html`<div class="scroll" tabindex="0" role="group" aria-label="Both responses"><table class="diff">
  <caption class="unseen">Both responses, line by line; lines that differ say so</caption><${Heads} />
  <tbody>${lines.map(l => html`<tr class=${l.mark}><${Line} line=${l} text=${l.left} /><${Line} line=${l} text=${l.right} /></tr>`)}</tbody>
</table></div>`;

function Line({ line, text }) {
  const mark = marks[line.mark];
  if (text === null) return html`<td class="none"><span class="unseen">nothing</span></td>`;
  return html`<td><span class="line" style=${{ paddingInlineStart: `${1.4 + line.depth}em` }}>${mark && html`<span class="sign" aria-hidden="true">${mark.sign}</span><span class="unseen">${mark.word}: </span>`}${visible(text)}</span></td>`;
}

// Texts are two texts, with the words that differ marked.
function Texts({ monolith, candidate }) {
  const pieces = useMemo(() => diffText(monolith, candidate), [monolith, candidate]);
  return html`<div class="texts">
    <div><h3><${Side} of="monolith" /></h3><${Text} pieces=${pieces.left} /></div>
    <div><h3><${Side} of="candidate" /></h3><${Text} pieces=${pieces.right} /></div>
  </div>`;
}

const Text = ({ pieces }) => html`<pre class="response" tabindex="0">${pieces.length ? pieces.map(p => (p.same
  ? visible(p.text) : html`<mark><span class="unseen">[differs: </span>${spelt(p.text)}<span class="unseen">]</span></mark>`)) : html`<span class="quiet">empty</span>`}</pre>`;

// spelt shows spaces and ends of lines where they are what differs.
const spelt = text => visible(/\S/.test(text) ? text : text.replaceAll(' ', '·').replaceAll('\t', '→\t')).replaceAll('\n', '↵\n');
