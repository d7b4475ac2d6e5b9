import { getSession, logIn, logOut } from './api.js';
import { link, start, status, stop } from './live.js';
import { store } from './store.js';

// session is {role: 'viewer' | 'operator' | '', needs_token}, null while it is
// asked for, or {error: Problem}.
export const session = store(null);

export async function ask() {
  try {
    settle(await getSession());
  } catch (err) {
    session.set({ role: '', needs_token: false, error: err });
  }
}

// enter throws the Problem where the token is not known.
export async function enter(token) {
  await logIn(token);
  await ask();
}

export async function leave() {
  try {
    await logOut();
  } finally {
    stop();
    status.set(null);
    await ask();
  }
}

function settle(said) {
  session.set(said);
  if (said.role) start();
}

// A connection that is refused is a session that has ended, or whose token was
// changed.
link.listen(now => now.kind === 'refused' && ask());
