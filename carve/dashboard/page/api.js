// The admin API, as docs/operate.md has it.
const root = new URL('api/v1/', document.baseURI);

// Problem is a response that is not a success, or none at all.
export class Problem extends Error {
  constructor({ code, message, hint }) {
    super(message);
    this.code = code;
    this.hint = hint ?? '';
  }
}

const patience = 30_000; // ms until a call is given up

async function call(path, { method = 'GET', body, signal } = {}) {
  const bound = AbortSignal.timeout(patience);
  let response;
  try {
    response = await fetch(new URL(path, root), {
      method,
      signal: signal ? AbortSignal.any([signal, bound]) : bound,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (response.ok) return response.status === 204 ? null : await response.json();
  } catch (err) {
    if (signal?.aborted) throw err;
    throw new Problem({ code: 'unavailable', message: 'whittle could not be reached', hint: 'is it running, and is the network up?' });
  }
  throw await problemOf(response);
}

// problemOf reads what a response that is no success says.
export async function problemOf(response) {
  const said = await response.json().catch(() => ({}));
  return new Problem({ code: said.code ?? String(response.status), message: said.message ?? `whittle responded ${response.status}`, hint: said.hint });
}

// route names a route in the query: a proxy in between may decode a path.
const route = (name, below = '', filter = {}) =>
  `routes${below}?${new URLSearchParams(Object.entries({ route: name, ...filter }).filter(([, v]) => v !== ''))}`;

export const getRoute = (name, signal) => call(route(name), { signal });
export const getPast = (name, signal) => call(route(name, '/history'), { signal });
export const getFindings = (name, filter, signal) =>
  call(route(name, '/findings', filter), { signal });
export const giveOrder = (name, verb, order) => call(route(name, `/${verb}`), { method: 'POST', body: order });
export const getSession = () => call('session');
export const logIn = token => call('session', { method: 'POST', body: { token } });
export const logOut = () => call('session', { method: 'DELETE' });
export const events = signal => fetch(new URL('events', root), { signal, headers: { Accept: 'text/event-stream' } });
