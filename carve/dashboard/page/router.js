import { store } from './store.js';

// Places are in the fragment, which no server sees: #/ and #/route/POST%20%2FCount.
export const place = store(read());

addEventListener('hashchange', () => place.set(read()));

function read() {
  const found = /^#\/route\/(.+)$/.exec(location.hash);
  if (!found) return '';
  try {
    const name = decodeURIComponent(found[1]);
    return name.trim() ? name : ''; // no route has a blank name, and a heading of one says nothing
  } catch {
    return found[1]; // somebody's own idea of an address: it will not be found
  }
}

export const routeHref = name => `#/route/${encodeURIComponent(name)}`;
