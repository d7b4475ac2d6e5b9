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

// Sample shows one exchange: what was asked, and both answers beside each other
// with what differs marked.
export function Sample({ sample, number }) {
  const lines = useMemo(() => diffJSON(sample.monolith, sample.candidate), [sample.monolith, sample.candidate]);
  return html`<figure class="sample">
    <figcaption><span class="quiet">Sample ${number}, <${At} at=${sample.at} /></span> <code class="request">${visible(sample.request)}</code></figcaption>
    ${lines ? html`<${Lines} lines=${lines} />` : html`<${Texts} sample=${sample} />`}
  </figure>`;
}

const Heads = () => html`<thead><tr><th scope="col"><${Side} of="monolith" /></th><th scope="col"><${Side} of="candidate" /></th></tr></thead>`;

// Lines is a JSON answer, member by member.
const Lines = ({ lines }) => html`<div class="scroll" tabindex="0" role="group" aria-label="Both answers"><table class="diff">
  <caption class="unseen">Both answers, line by line; lines that differ say so</caption><${Heads} />
  <tbody>${lines.map(l => html`<tr class=${l.mark}><${Line} line=${l} text=${l.left} /><${Line} line=${l} text=${l.right} /></tr>`)}</tbody>
</table></div>`;

function Line({ line, text }) {
  const mark = marks[line.mark];
  if (text === null) return html`<td class="none"><span class="unseen">nothing</span></td>`;
  return html`<td><span class="line" style=${{ paddingInlineStart: `${1.4 + line.depth}em` }}>${mark && html`<span class="sign" aria-hidden="true">${mark.sign}</span><span class="unseen">${mark.word}: </span>`}${visible(text)}</span></td>`;
}

// Texts is any other answer, with the words that differ marked.
function Texts({ sample }) {
  const pieces = useMemo(() => diffText(sample.monolith, sample.candidate), [sample.monolith, sample.candidate]);
  return html`<div class="texts">
    <div><h3><${Side} of="monolith" /></h3><${Text} pieces=${pieces.left} /></div>
    <div><h3><${Side} of="candidate" /></h3><${Text} pieces=${pieces.right} /></div>
  </div>`;
}

const Text = ({ pieces }) => html`<pre class="answer" tabindex="0">${pieces.length ? pieces.map(p => (p.same
  ? visible(p.text) : html`<mark><span class="unseen">[differs: </span>${spelt(p.text)}<span class="unseen">]</span></mark>`)) : html`<span class="quiet">empty</span>`}</pre>`;

// spelt shows spaces and ends of lines where they are what differs.
const spelt = text => visible(/\S/.test(text) ? text : text.replaceAll(' ', '·').replaceAll('\t', '→\t')).replaceAll('\n', '↵\n');
