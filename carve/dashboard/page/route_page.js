import { getPast, getRoute } from './api.js';
import { Controls } from './controls.js';
import { html, useEffect, useRef, useState } from './dom.js';
import { Evidence } from './evidence.js';
import { Findings } from './findings.js';
import { basis, visible } from './format.js';
import { Gates } from './gates.js';
import { Guards } from './guards.js';
import { Harm } from './harm.js';
import { Ledger } from './ledger.js';
import { link, status } from './live.js';
import { Proxies } from './proxies.js';
import { useStore } from './store.js';
import { At } from './time.js';
import { Timeline } from './timeline.js';
import { Traffic } from './traffic.js';
import { Name, Phase, Verdict } from './words.js';

export function RoutePage({ name, role }) {
  const { route: r, past, problem, turn, take } = useRoute(name);
  const heading = useRef(null);
  useEffect(() => { heading.current.focus({ preventScroll: true }); scrollTo(0, 0); }, []);
  useEffect(() => { document.title = `${r ? `${r.share_percent} % ${r.evidence.verdict} ` : ''}${visible(name)} – whittle`; }, [r]);
  return html`<div class="route">
    <p class="back"><a href="#/">← All routes</a></p>
    <div class="route-head"><h1 tabindex="-1" ref=${heading}><${Name} of=${name} /></h1></div>
    ${problem && html`<${Trouble} problem=${problem} known=${r} />`}
    ${r && html`
      <${Standing} route=${r} />
      <${Controls} route=${r} role=${role} onDone=${take} />
      <div class="columns">
        <div><${Evidence} evidence=${r.evidence} past=${past} /><${Findings} name=${name} turn=${turn} /><${Traffic} route=${r} past=${past} /></div>
        <div><${Proxies} steer=${r.steer} /><${Harm} harm=${r.harm} phase=${r.phase} /><${Gates} gates=${r.gates} /><${Guards} guards=${r.guards} phase=${r.phase} /><${Ledger} ledger=${r.ledger} /><${Timeline} decisions=${r.timeline} /></div>
      </div>`}
    ${!r && !problem && html`<p class="quiet wait">Reading…</p>`}
  </div>`;
}

function Trouble({ problem, known }) {
  const away = useStore(link).kind === 'lost';
  if (known && away && problem.code !== 'not_found') return null; // the banner says so already
  return html`<div class="notice bad" role="alert"><p>${problem.code === 'not_found' ? html`<strong>There is no such route.</strong> The config may have changed: <a href="#/">see all routes</a>.`
  : html`<strong>${known ? 'It could not be read again' : 'It could not be read'}:</strong> ${problem.message}. ${problem.hint}`}</p></div>`;
}

function Standing({ route: r }) {
  return html`<div class="standing">
    <div class="stand"><span class="what">Verdict</span><${Verdict} state=${r.evidence.verdict} large /></div>
    <div class="stand"><span class="what">${r.steer ? 'Share at the proxy' : 'Candidate serves'}</span><span class="large">${basis(r.share_bp)}</span><span class="meter" aria-hidden="true"><span style=${{ width: `${r.share_bp / 100}%` }}></span></span></div>
    <div class="stand"><span class="what">Phase since <${At} at=${r.since} /></span><${Phase} route=${r} /></div>
    <div class="stand next"><span class="what">Next</span><span>${visible(r.next)}</span></div>
  </div>`;
}

const pastEvery = 5000; // ms between two looks at the history and the findings

// useRoute reads a route whenever the live status says that it is another one,
// one call at a time. turn is another number when the findings may be others.
function useRoute(name) {
  const live = useStore(status)?.routes.find(r => r.route === name);
  const [state, setState] = useState({ route: null, past: null, problem: null, turn: 0 });
  const work = useRef({ busy: false, again: false, looked: 0, ended: null });
  const set = part => setState(s => ({ ...s, ...part }));

  async function read() {
    const w = work.current;
    if (w.busy) {
      w.again = true;
      return;
    }
    w.busy = true;
    const { signal } = w.ended;
    do {
      w.again = false;
      try {
        const look = Date.now() - w.looked >= pastEvery;
        const [route, past] = await Promise.all([getRoute(name, signal), look ? getPast(name, signal) : null]);
        if (look) w.looked = Date.now();
        setState(s => ({ route, past: past ?? s.past, problem: null, turn: look ? s.turn + 1 : s.turn }));
      } catch (err) {
        if (signal.aborted) return;
        set({ problem: err });
      }
    } while (w.again);
    w.busy = false;
  }

  useEffect(() => {
    work.current.ended = new AbortController();
    return () => work.current.ended.abort();
  }, []);
  useEffect(() => {
    read();
    const later = setTimeout(read, pastEvery); // what was too soon to look at
    return () => clearTimeout(later);
  }, [live]);
  return { ...state, take: route => { work.current.looked = 0; set({ route }); } };
}
