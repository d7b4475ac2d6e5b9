import { html, useEffect, useLayoutEffect, useRef } from './dom.js';
import uPlot from './parts/uplot.js';
import { useStore } from './store.js';
import { colour, themed } from './theme.js';

const tall = 150; // pixels

// Plot draws series with uPlot. make(colours) gives uPlot's options without the
// size, and is asked again when look or the theme is another one; data is
// uPlot's; label is what the picture shows, in words; tell(plot, index) says in
// a line what is under the pointer, or of the last point where index is null.
export function Plot({ make, look = '', data, label, tell }) {
  const box = useRef(null), plot = useRef(null), line = useRef(null), speak = useRef(tell);
  const theme = useStore(themed);
  speak.current = tell;
  const say = index => { line.current.textContent = speak.current(plot.current, index); };
  useLayoutEffect(() => {
    const options = make(palette());
    const made = new uPlot({
      ...options, width: widthOf(box.current), height: tall, legend: { show: false },
      cursor: { y: false, drag: { setScale: false }, points: { size: 6 } },
      hooks: { ...options.hooks, setCursor: [u => plot.current && say(u.cursor.idx)] },
    }, data, box.current);
    plot.current = made;
    say(null);
    const size = new ResizeObserver(() => made.setSize({ width: widthOf(box.current), height: tall }));
    size.observe(box.current);
    return () => {
      size.disconnect();
      plot.current = null;
      made.destroy();
    };
  }, [theme, look]);
  useEffect(() => { plot.current.setData(data); }, [data]);
  useEffect(() => say(plot.current.cursor.idx)); // what there is to tell may have changed
  return html`<div class="plot"><div ref=${box} role="img" aria-label=${label}></div><p class="readout" ref=${line} aria-hidden="true"></p></div>`;
}

const widthOf = el => Math.max(120, el.clientWidth);

const names = ['ink', 'soft', 'rule', 'monolith', 'candidate', 'good', 'band', 'interval', 'interval-band'];
const palette = () => Object.fromEntries(names.map(n => [n.replace(/-b/, 'B'), colour(`--${n}`)]));

const font = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';

// axes are the same for all: quiet, with the figures written as given.
export const axes = (c, below, left) => [
  { stroke: c.soft, font, size: 26, gap: 4, space: 64, grid: { show: false }, ticks: { stroke: c.rule, size: 4 }, values: below },
  { stroke: c.soft, font, size: 52, gap: 4, space: 32, grid: { stroke: c.rule, width: 1 }, ticks: { show: false }, values: left },
];

// stepped draws what is constant until it is another one.
export const stepped = uPlot.paths.stepped({ align: 1 });

const two = n => String(n).padStart(2, '0');

// clockAxis writes times of day in the viewer's zone, finer on shorter spans.
export const clockAxis = (u, ticks) => {
  const wide = ticks.length > 1 ? ticks.at(-1) - ticks[0] : 0;
  return ticks.map(s => {
    const d = new Date(s * 1000);
    if (wide > 3 * 86400) return `${d.getDate()}.${d.getMonth() + 1}.`;
    return `${two(d.getHours())}:${two(d.getMinutes())}${wide < 600 ? `:${two(d.getSeconds())}` : ''}`;
  });
};
