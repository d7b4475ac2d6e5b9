// The one place that names the parts the page is built with.
import { h, render } from './parts/preact.js';
import htm from './parts/htm.js';

export { render };
export { useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from './parts/hooks.js';

// html`<p>${text}</p>` makes elements; what is put in is text, never markup.
export const html = htm.bind(h);
