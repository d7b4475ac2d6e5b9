import { html, useMemo } from './dom.js';
import { digits, millis, percent, rate, times } from './format.js';
import { axes, clockAxis, Plot, stepped } from './plot.js';
import { hour } from './time.js';
import { Side } from './words.js';

const asShare = f => (f === 0 ? '0 %' : `${digits(f * 100, 2)} %`);

// asked says whether a side was asked anything lately, by users or as mirrored requests.
const asked = t => t.per_second + t.mirrored_per_second > 0;

const rows = [
  { label: 'Requests/s', of: t => rate(t.per_second) },
  { label: 'Mirrored/s', of: t => rate(t.mirrored_per_second) },
  { label: 'Errors', of: t => (asked(t) ? percent(t.errors) : '–') },
  { label: 'p50 latency', of: t => millis(t.p50_ms), ratio: t => t.p50_ms },
  { label: 'p99 latency', of: t => millis(t.p99_ms), ratio: t => t.p99_ms },
];

const plots = [
  { title: 'Requests per second', of: t => t.per_second, axis: n => digits(n, 3), least: 1 },
  { title: 'p99 latency', of: t => t.p99_ms || null, axis: n => `${digits(n, 3)} ms`, least: 1 },
  { title: 'Errors', of: t => (asked(t) ? t.errors : null), axis: asShare, least: 0.01 },
];

// Traffic shows what both sides do for users, now and over time.
export function Traffic({ route: r, past }) {
  const points = past?.traffic ?? [];
  const quiet = !asked(r.monolith) && !asked(r.candidate);
  return html`<section class="card traffic" aria-labelledby="traffic-title">
    <h2 id="traffic-title">Traffic</h2>
    <table class="sides"><caption class="unseen">What both sides did in the last ten seconds</caption>
      <thead><tr><td></td><th scope="col" class="n"><${Side} of="monolith" /></th><th scope="col" class="n"><${Side} of="candidate" /></th><th scope="col" class="n ratio">Candidate ÷ monolith</th></tr></thead>
      <tbody>${rows.map(row => html`<tr><th scope="row">${row.label}</th><td class="n">${row.of(r.monolith)}</td><td class="n">${row.of(r.candidate)}</td><td class="n quiet">${row.ratio ? times(row.ratio(r.monolith), row.ratio(r.candidate)) : ''}</td></tr>`)}</tbody>
    </table>
    ${quiet && html`<p class="empty">No user’s request came in the last ten seconds.</p>`}
    ${points.length > 1 && html`<div class="plots">${plots.map(p => html`<${SidesPlot} key=${p.title} plot=${p} points=${points} />`)}<${SharePlot} points=${points} /></div>`}
  </section>`;
}

function SidesPlot({ plot, points }) {
  const data = useMemo(() => [points.map(p => Date.parse(p.at) / 1000), points.map(p => plot.of(p.monolith)), points.map(p => plot.of(p.candidate))], [points]);
  const make = c => ({
    scales: { y: { range: (u, low, high) => [0, Math.max(plot.least, (high ?? 0) * 1.1)] } },
    axes: axes(c, clockAxis, (u, ticks) => ticks.map(plot.axis)),
    series: [{}, { stroke: c.monolith, width: 2, points: { show: false } }, { stroke: c.candidate, width: 2, dash: [6, 4], points: { show: false } }],
  });
  const of = f => (f === null || f === undefined ? '–' : plot.axis(f));
  const tell = (u, index) => {
    const i = u && index !== null && index !== undefined && u.data[0][index] !== undefined ? index : null;
    const [x, m, k] = u && i !== null ? u.data : data, at = i ?? data[0].length - 1;
    return `${hour(x[at] * 1000)}: monolith ${of(m[at])}, candidate ${of(k[at])}`;
  };
  return html`<figure><figcaption><h3>${plot.title}</h3></figcaption>
    <${Plot} make=${make} data=${data} tell=${tell} label=${`${plot.title} over time. ${tell(null, null)}.`} /></figure>`;
}

function SharePlot({ points }) {
  const data = useMemo(() => [points.map(p => Date.parse(p.at) / 1000), points.map(p => p.share_bp / 100)], [points]);
  const make = c => ({
    scales: { y: { range: [0, 100] } },
    axes: axes(c, clockAxis, (u, ticks) => ticks.map(t => `${t} %`)),
    series: [{}, { stroke: c.candidate, width: 2, paths: stepped, points: { show: false } }],
  });
  const tell = (u, index) => {
    const at = u && index !== null && index !== undefined && u.data[0][index] !== undefined ? index : data[0].length - 1;
    return `${hour(data[0][at] * 1000)}: the candidate serves ${data[1][at]} %`;
  };
  return html`<figure><figcaption><h3>Candidate’s share</h3></figcaption>
    <${Plot} make=${make} data=${data} tell=${tell} label=${`The candidate’s share over time. ${tell(null, null)}.`} /></figure>`;
}
