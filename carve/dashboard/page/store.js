import { useEffect, useState } from './dom.js';

// store holds one value and tells who listens when it is another one.
export function store(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const tell of [...listeners]) tell(value);
    },
    listen(tell) {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
  };
}

// useStore draws a component again when the store's value changes.
export function useStore(from) {
  const [value, set] = useState(from.get());
  useEffect(() => {
    set(() => from.get()); // it may have changed between drawing and listening
    return from.listen(next => set(() => next));
  }, [from]);
  return value;
}
