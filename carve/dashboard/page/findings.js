import { getFindings } from './api.js';
import { html, useEffect, useRef, useState } from './dom.js';
import { Finding } from './finding.js';
import { count, plural } from './format.js';
import { findingKinds } from './words.js';

const pageSize = 20;
const typing = 250; // ms without a key until a search is sent

const states = { '': 'All', false: 'Not declared', true: 'Declared as intended' };

// Findings lists what differs, a page at a time. turn is another number when
// there may be others than those shown.
export function Findings({ name, turn }) {
  const [filter, setFilter] = useState({ kind: '', expected: '', q: '', offset: 0 });
  const [page, setPage] = useState(null), [problem, setProblem] = useState(null);
  const top = useRef(null);
  useEffect(() => {
    const ended = new AbortController();
    getFindings(name, { ...filter, limit: pageSize }, ended.signal).then(
      found => { setPage({ ...found, filter }); setProblem(null); },
      err => ended.signal.aborted || setProblem(err));
    return () => ended.abort();
  }, [name, filter, turn]);
  const change = part => setFilter(f => ({ ...f, offset: 0, ...part }));
  const filtered = filter.kind || filter.expected || filter.q;
  const go = offset => {
    change({ offset });
    top.current.focus();
    top.current.scrollIntoView({ block: 'start' });
  };
  return html`<section class="card findings" aria-labelledby="findings-title">
    <div class="card-head"><h2 id="findings-title" tabindex="-1" ref=${top}>Findings${page ? html` <span class="n quiet">${count(page.total)}</span>` : ''}</h2>
      ${(filtered || page?.total > 0) && html`<${Filters} filter=${filter} change=${change} />`}</div>
    <div role="status" class="unseen">${page && `${plural(page.total, 'finding')}${filtered ? ' fit' : ''}`}</div>
    ${problem && html`<p class="problem" role="alert">The findings could not be read: ${problem.message}. ${problem.hint}</p>`}
    ${!page ? !problem && html`<p class="quiet">Reading…</p>` : page.total === 0 ? html`<${None} page=${page} filtered=${filtered} />` : html`
      <ol class="finding-list" start=${page.filter.offset + 1}>${page.findings.map(f => html`<${Finding} key=${keyOf(f)} finding=${f} compared=${page.compared} />`)}</ol>
      ${page.total > pageSize && html`<${Pager} page=${page} go=${go} />`}`}
  </section>`;
}

const keyOf = f => [f.kind, f.path, f.expected ? 'expected' : '', f.cause && f.kind === 'wrong_value' ? f.cause : '', ['status', 'content_type', 'header', 'failure'].includes(f.kind) ? `${f.monolith}→${f.candidate}` : ''].join('\u0000');

function Filters({ filter, change }) {
  const wait = useRef(0);
  const search = e => {
    const q = e.currentTarget.value;
    clearTimeout(wait.current);
    wait.current = setTimeout(() => change({ q }), typing);
  };
  useEffect(() => () => clearTimeout(wait.current), []);
  return html`<form class="filters" role="search" aria-label="Findings" onSubmit=${e => e.preventDefault()}>
    <label><span class="unseen">Kind</span><select name="kind" value=${filter.kind} onChange=${e => change({ kind: e.currentTarget.value })}>
      <option value="">Every kind</option>${Object.entries(findingKinds).map(([kind, label]) => html`<option value=${kind}>${label}</option>`)}</select></label>
    <label><span class="unseen">Declared</span><select name="expected" value=${filter.expected} onChange=${e => change({ expected: e.currentTarget.value })}>
      ${Object.entries(states).map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select></label>
    <label class="search"><span class="unseen">Search findings</span><input type="search" name="q" placeholder="Search findings" autocomplete="off" spellcheck="false" maxlength="200" onInput=${search} /></label>
  </form>`;
}

function None({ page, filtered }) {
  if (filtered) return html`<p class="empty">No finding matches these filters.</p>`;
  if (!page.compared) return html`<p class="empty">Nothing has been compared yet.</p>`;
  return html`<p class="empty">Nothing has differed so far. Evidence says how much could still differ unseen.</p>`;
}

function Pager({ page, go }) {
  const { offset } = page.filter, last = Math.min(page.total, offset + page.findings.length);
  const pages = Math.ceil(page.total / pageSize), at = Math.floor(offset / pageSize) + 1;
  return html`<nav class="pager" aria-label="Pages of findings">
    <button type="button" disabled=${at === 1} onClick=${() => go(0)} aria-label="First page">«</button>
    <button type="button" disabled=${at === 1} onClick=${() => go(offset - pageSize)}>Previous</button>
    <span>${count(offset + 1)}–${count(last)} of ${count(page.total)}</span>
    <button type="button" disabled=${at >= pages} onClick=${() => go(offset + pageSize)}>Next</button>
    <button type="button" disabled=${at >= pages} onClick=${() => go((pages - 1) * pageSize)} aria-label="Last page">»</button>
  </nav>`;
}
