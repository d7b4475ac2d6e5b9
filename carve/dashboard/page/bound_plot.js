import { html, useMemo } from './dom.js';
import { count } from './format.js';
import { axes, clockAxis, Plot } from './plot.js';
import { hour } from './time.js';

// unit writes a bound's figures.
export function unit(what) {
  if (what === 'mean' || what === 'noise' || what === 'form' || what === 'share of responses') return f => percentSigned(f, what === 'mean');
  if (what === 'spread') return f => `${Number(f.toPrecision(3))}×`;
  return f => String(Number(f.toPrecision(2)));
}

const percentSigned = (f, sign) => `${sign && f > 0 ? '+' : ''}${Number((100 * f).toPrecision(2))} %`;

// BoundPlot draws an interval narrowing, against the margin that counts as no
// difference.
export function BoundPlot({ bound: b, title, series, by }) {
  const f = unit(b.what), overTime = by === 'time';
  const data = useMemo(() => {
    // Against the number of exchanges, points with the same number are one.
    const points = overTime ? series : series.filter((p, i) => p.compared > 0 && p.compared !== series[i + 1]?.compared);
    return [points.map(p => (overTime ? p.at / 1000 : p.compared)), points.map(p => p.high), points.map(p => p.low), points.map(p => p.estimate)];
  }, [series, overTime]);
  const [low, high] = range(series, b);
  const last = series.at(-1);
  const make = c => ({
    scales: { x: overTime ? { time: true } : { time: false, distr: 3 }, y: { range: [low, high] } },
    axes: axes(c, overTime ? clockAxis : (u, ticks) => ticks.map(t => (t && Number.isInteger(Math.log10(t)) ? count(t) : '')), (u, ticks) => ticks.map(f)),
    series: [{}, { stroke: c.interval, width: 1.5, points: { show: false } }, { stroke: c.interval, width: 1.5, points: { show: false } },
      { stroke: c.interval, width: 1, dash: [4, 3], points: { show: false } }],
    bands: [{ series: [1, 2], fill: c.intervalBand }],
    hooks: { drawAxes: [u => drawMargin(u, b, c)] },
  });
  const words = p => `${f(p.low)} to ${f(p.high)}`;
  const tell = (u, index) => {
    if (index === null || index === undefined || !u) return `Now: ${words(b)}`;
    const [x, highs, lows] = u.data;
    if (x[index] === undefined) return `Now: ${words(b)}`;
    return `${overTime ? hour(x[index] * 1000) : `${count(x[index])} exchanges`}: ${words({ low: lows[index], high: highs[index] })}`;
  };
  return html`<${Plot} make=${make} look=${`${by} ${low} ${high}`} data=${data} tell=${tell}
    label=${`The interval of ${title} narrowed from ${f(series[0].low)} … ${f(series[0].high)} to ${f(last.low)} … ${f(last.high)} over ${count(last.compared)} exchanges; the margin is ${f(b.margin_low)} … ${f(b.margin_high)}.`} />`;
}

// range keeps the margin large enough to see what becomes of it: the widest
// intervals, from the beginning, run out of the picture.
function range(series, b) {
  const late = series.slice(Math.floor(series.length / 5));
  const wide = b.margin_high - b.margin_low;
  let low = Math.max(Math.min(b.margin_low, ...late.map(p => p.low)), b.margin_low - 3 * wide);
  let high = Math.min(Math.max(b.margin_high, ...late.map(p => p.high)), b.margin_high + 3 * wide);
  const last = series.at(-1); // the present one is always whole
  low = Math.min(low, last.low);
  high = Math.max(high, last.high);
  const pad = (high - low || 1) * 0.06;
  // Rounded, so that the picture is not made anew for each new point.
  const grain = 10 ** Math.floor(Math.log10(high - low || 1) - 1);
  return [low === 0 ? 0 : Math.floor((low - pad) / grain) * grain, Math.ceil((high + pad) / grain) * grain];
}

function drawMargin(u, b, c) {
  const { left, top, width, height } = u.bbox;
  const at = value => Math.min(top + height, Math.max(top, u.valToPos(value, 'y', true)));
  const [from, to] = [at(b.margin_high), at(b.margin_low)];
  u.ctx.save();
  u.ctx.fillStyle = c.band;
  u.ctx.fillRect(left, from, width, to - from);
  u.ctx.strokeStyle = c.good;
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const y of [from, to]) {
    u.ctx.beginPath();
    u.ctx.moveTo(left, y);
    u.ctx.lineTo(left + width, y);
    u.ctx.stroke();
  }
  u.ctx.restore();
}
