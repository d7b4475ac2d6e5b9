import { html, useEffect, useRef, useState } from './dom.js';
import { basis, named, plural, visible } from './format.js';
import { status } from './live.js';
import { store, useStore } from './store.js';
import { phases } from './words.js';

// said is what an order came to; it is read out and shown for a while.
export const said = store('');

const most = 3; // changes read out one by one

// Announcer tells a screen reader of verdicts and phases that changed, and
// everybody of what an order came to.
export function Announcer() {
  const before = useRef(null);
  const [news, setNews] = useState('');
  const order = useStore(said);
  useEffect(() => status.listen(now => {
    const changes = before.current && now ? changesOf(before.current, now) : [];
    before.current = now && new Map(now.routes.map(r => [r.route, glance(r)]));
    if (changes.length) setNews([...changes.slice(0, most), ...(changes.length > most ? [`and ${plural(changes.length - most, 'more change')}`] : [])].join('. '));
  }), []);
  useEffect(() => {
    if (!order) return undefined;
    const timer = setTimeout(() => said.set(''), 8000);
    return () => clearTimeout(timer);
  }, [order]);
  return html`<div class="unseen" role="status" id="news">${news}</div>
    <div class="toast" role="status">${order && html`<p>${order}</p>`}</div>`;
}

const glance = r => ({ verdict: r.evidence.verdict, phase: r.phase, share: r.share_bp });

// changesOf lists in sentences what is another verdict, phase or share now.
export function changesOf(before, now) {
  const list = [];
  for (const r of now.routes) {
    const was = before.get(r.route), is = glance(r);
    if (!was) continue;
    if (was.verdict !== is.verdict) list.push(`${visible(r.route)}: verdict ${is.verdict}, it was ${was.verdict}`);
    if (was.phase !== is.phase) list.push(`${visible(r.route)}: ${named(phases, is.phase)}`);
    if (was.share !== is.share) list.push(`${visible(r.route)}: the candidate serves ${basis(is.share)}`);
  }
  return list;
}
