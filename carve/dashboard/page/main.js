import { App } from './app.js';
import { html, render } from './dom.js';

const at = document.getElementById('app');
at.replaceChildren();
render(html`<${App} />`, at);
