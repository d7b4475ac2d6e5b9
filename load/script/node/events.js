class EventEmitter {
  #of() { return this._events || (this._events = Object.create(null)); }
  on(name, f) { (this.#of()[name] = this.#of()[name] || []).push(f); return this; }
  prependListener(name, f) { (this.#of()[name] = this.#of()[name] || []).unshift(f); return this; }
  once(name, f) { const g = (...args) => { this.off(name, g); f.apply(this, args); }; g.listener = f; return this.on(name, g); }
  off(name, f) { const l = this.#of()[name]; if (l) this.#of()[name] = l.filter(g => g !== f && g.listener !== f); return this; }
  emit(name, ...args) {
    const l = this.#of()[name];
    if (!l || !l.length) { if (name === 'error') throw args[0] instanceof Error ? args[0] : new Error('Unhandled error. (' + args[0] + ')'); return false; }
    for (const f of l.slice()) f.apply(this, args);
    return true;
  }
  removeAllListeners(name) { if (name === undefined) this._events = Object.create(null); else delete this.#of()[name]; return this; }
  listeners(name) { return (this.#of()[name] || []).slice(); }
  listenerCount(name) { return (this.#of()[name] || []).length; }
  eventNames() { return Object.keys(this.#of()); }
  setMaxListeners() { return this; }
  getMaxListeners() { return 10; }
}
EventEmitter.prototype.addListener = EventEmitter.prototype.on;
EventEmitter.prototype.removeListener = EventEmitter.prototype.off;
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.defaultMaxListeners = 10;
EventEmitter.once = (e, name) => new Promise((resolve, reject) => { e.once(name, (...args) => resolve(args)); if (name !== 'error') e.once('error', reject); });
module.exports = EventEmitter;
