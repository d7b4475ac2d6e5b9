import { html, useEffect, useState } from './dom.js';
import { recall, remember } from './memory.js';
import { store } from './store.js';

// themed changes its value whenever other colours are in force, so that what
// is drawn on a canvas is drawn again.
export const themed = store(0);

const changed = () => themed.set(themed.get() + 1);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);

const names = { '': 'System', light: 'Light', dark: 'Dark' };

export function ThemeSwitch() {
  const [chosen, choose] = useState(() => (recall('theme') in names ? recall('theme') : ''));
  useEffect(() => {
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    remember('theme', chosen);
    changed();
  }, [chosen]);
  return html`<label class="theme"><span class="unseen">Theme</span>
    <select value=${chosen} onChange=${e => choose(e.currentTarget.value)} name="theme">
      ${Object.entries(names).map(([value, name]) => html`<option value=${value}>${name}</option>`)}
    </select></label>`;
}

// colour resolves a custom property as it is in force, for a canvas.
export function colour(name) {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
