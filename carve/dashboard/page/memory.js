// What the browser remembers between visits: a theme and a name, no secrets.
// Storage may be switched off; then nothing is remembered.
const prefix = 'whittle.';

export function recall(key) {
  try {
    return localStorage.getItem(prefix + key) ?? '';
  } catch {
    return '';
  }
}

export function remember(key, value) {
  try {
    if (value) localStorage.setItem(prefix + key, value);
    else localStorage.removeItem(prefix + key);
  } catch { /* see above */ }
}
