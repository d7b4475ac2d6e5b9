// Reads, in a Node process, which function serves which endpoint, out of the
// tables of its routers. It calls nothing of the application's but a router's own
// test of a path. routerWalk in router.go leads it from the server's listeners on,
// through closures, which JavaScript itself cannot look into.
(function (paths) {
  const MAX = 4000;
  const routes = []; // {method, path, handler, last}: the last handler is the endpoint's own
  const seen = new Set();
  const data = (x, name) => { // never a getter
    for (let o = x, i = 0; o != null && i < 4; o = Object.getPrototypeOf(o), i++) {
      const d = Object.getOwnPropertyDescriptor(o, name);
      if (d) return d.value;
    }
  };
  const is = x => x !== null && (typeof x === 'object' || typeof x === 'function');
  const join = (prefix, path) => {
    if (!prefix || prefix === '/') return path || '/';
    return path === '/' || !path ? prefix : prefix.replace(/\/$/, '') + (/^\{?\//.test(path) ? path : '/' + path);
  };
  const add = (methods, prefix, path, handlers) => {
    for (const one of Array.isArray(path) ? path : [path]) {
      if (typeof one !== 'string' && !(one instanceof RegExp)) continue;
      for (const method of methods) {
        handlers.forEach((handler, i) => {
          if (typeof handler === 'function' && routes.length < MAX) routes.push({ method: String(method).toUpperCase(), path: join(prefix, String(one)), handler, last: i === handlers.length - 1 });
        });
      }
    }
  };

  const named = []; // endpoints whose handlers are nowhere in a table
  const name = (method, path) => {
    if (named.length < MAX) named.push((method === 'ALL' ? '*' : method.toUpperCase()) + ' ' + path);
  };

  // Express 4 and 5: a router's stack of layers. Where a router is mounted only its
  // own test knows, so it is asked with the paths that were requested.
  const deferred = []; // {handler, prefix, at}: applications in a closure
  function express(stack, prefix, at) {
    for (const layer of stack) {
      if (!is(layer)) continue;
      const route = data(layer, 'route');
      if (route) {
        const by = new Map();
        for (const inner of data(route, 'stack') ?? []) {
          const method = data(inner, 'method') ?? '*';
          by.set(method, [...(by.get(method) ?? []), data(inner, 'handle')]);
        }
        for (const [method, handlers] of by) add([method], prefix, data(route, 'path'), handlers);
        continue;
      }
      const handle = data(layer, 'handle');
      const inner = stackOf(handle);
      if (!inner && handle?.name !== 'mounted_app') continue;
      const mounts = new Map();
      for (const path of at) {
        const before = [layer.path, layer.params];
        try {
          const match = layer.match(path); // true, or what it found
          if (!match) continue;
          const { path: matched, params } = is(match) ? match : layer;
          let mount = matched || '';
          for (const [name, value] of Object.entries(params ?? {})) {
            mount = mount.split('/').map(s => (s === encodeURIComponent(value) || s === value ? ':' + name : s)).join('/');
          }
          const rest = path.slice((matched || '').length);
          if (!mounts.has(mount)) mounts.set(mount, []);
          mounts.get(mount).push(rest[0] === '/' ? rest : '/' + rest);
        } catch {
          continue;
        } finally {
          if (layer.path !== before[0]) layer.path = before[0];
          if (layer.params !== before[1]) layer.params = before[1];
        }
      }
      for (const [mount, rest] of mounts) {
        const whole = join(prefix, mount);
        if (!inner) deferred.push({ handler: handle, prefix: whole, at: rest });
        else if (!seen.has(inner)) express(inner, whole, rest);
      }
    }
  }
  function stackOf(x) {
    if (!is(x)) return undefined;
    for (const s of [data(x, 'stack'), data(data(x, '_router'), 'stack'), data(data(x, 'router'), 'stack'), own(x, 'router')]) {
      if (Array.isArray(s) && s.every(l => is(l) && typeof data(l, 'handle') === 'function' && typeof data(l, 'match') === 'function')) return s;
    }
  }
  function own(x, name) { // Express 5 makes its router by a getter of the application's own
    if (typeof x !== 'function' || typeof data(x, 'handle') !== 'function') return undefined;
    const d = Object.getOwnPropertyDescriptor(x, name);
    try {
      return d?.get ? data(x[name], 'stack') : undefined;
    } catch {
      return undefined;
    }
  }

  // standard are the modules of Node's own that are loaded.
  let modules;
  function standard() {
    if (modules) return modules;
    modules = new Set();
    for (const entry of process.moduleLoadList ?? []) {
      const name = /^NativeModule ([a-z]\w*)$/.exec(entry)?.[1];
      if (!name || name === 'internal') continue;
      try {
        modules.add(process.getBuiltinModule?.(name) ?? require(name));
      } catch {
        continue;
      }
    }
    return modules;
  }

  // Each knows one kind of table; it says whether x is one.
  const kinds = [
    function expressApp(x, prefix, at) {
      const stack = stackOf(x);
      if (!stack || !stack.length) return false;
      express(stack, prefix, at);
      return true;
    },
    function koaRouter(x, prefix) { // @koa/router, by the middleware that routes() gives
      const router = data(x, 'router');
      const stack = data(router, 'stack');
      if (typeof x !== 'function' || !Array.isArray(stack) || !stack.every(l => Array.isArray(data(l, 'methods')))) return false;
      for (const layer of stack) add(data(layer, 'methods').filter(m => m !== 'HEAD'), prefix, data(layer, 'path'), data(layer, 'stack') ?? []);
      return true;
    },
    function findMyWay(x, prefix) { // Fastify
      const all = data(x, 'routes');
      if (!Array.isArray(all) || !all.length || !all.every(r => is(r) && typeof data(r, 'handler') === 'function' && 'store' in r)) return false;
      const bases = new Set(all.map(r => r.path));
      if (bases.size <= 2 && [...bases].every(p => /^\/\*?$/.test(p)) && all.length > 10) return false; // of what is not found
      const rows = new Map(all.map(r => [r.method + ' ' + r.path, r]));
      const without = r => { // "/search/:kind?" is here as "/search/:kind" and as "/search", of one store
        const short = /^(.*)\/:[^/]+$/.exec(r.path)?.[1];
        const other = short !== undefined && is(r.store) ? rows.get(r.method + ' ' + (short || '/')) : undefined;
        return other?.store === r.store ? other : undefined;
      };
      const shorter = new Set(all.map(without));
      for (const r of all) {
        if (shorter.has(r) || r.method === 'HEAD' && rows.has('GET ' + r.path)) continue;
        add([r.method], prefix, without(r) ? r.path + '?' : r.path, [data(r.store, 'handler') ?? r.handler]);
      }
      return true;
    },
    function hono(x, prefix) {
      const all = data(x, 'routes');
      if (!Array.isArray(all) || typeof data(x, 'fetch') !== 'function' || !all.every(r => is(r) && typeof r.handler === 'function' && typeof r.path === 'string')) return false;
      for (const r of all) {
        const handler = data(r.handler, '__COMPOSED_HANDLER') ?? r.handler;
        if (handler.length < 2) add([r.method === 'ALL' ? '*' : r.method], prefix, r.path, [handler]);
      }
      return true;
    },
    function hapi(x, prefix) {
      const by = data(data(x, 'router'), 'routes');
      if (!(by instanceof Map) || !is(data(x, 'instances'))) return false;
      for (const [method, table] of by) {
        for (const one of data(table, 'routes') ?? []) {
          const route = data(one, 'route');
          const settings = data(data(route, 'public'), 'settings') ?? data(route, 'settings');
          add([method], prefix, data(route, 'path') ?? data(one, 'path'), [data(settings, 'handler')]);
        }
      }
      return true;
    },
    function polka(x, prefix) { // 0.5: {GET: {'/path': [f]}}, and applications by the first part of a path
      const by = data(x, 'handlers'), apps = data(x, 'apps');
      if (!is(by) || !is(apps) || !is(data(x, 'bwares')) || typeof data(x, 'find') !== 'function') return false;
      for (const method of Object.keys(by)) for (const path of Object.keys(by[method])) add([method], prefix, path, by[method][path]);
      seen.add(x);
      for (const base of Object.keys(apps)) if (!seen.has(apps[base])) polka(apps[base], join(prefix, base));
      return true;
    },
    function h3(x, prefix) { // 2; what is mounted is among them, its prefix whole
      const all = data(x, '~routes');
      if (!Array.isArray(all) || !all.every(r => is(r) && typeof r.route === 'string')) return false;
      for (const r of all) add([r.method || '*'], prefix, r.route, [r.handler]);
      return true;
    },
    function elysia(all, prefix) { // its history, which is whole; a handler may be a value
      if (!Array.isArray(all) || !all.length || !all.every(r => is(r) && typeof r.method === 'string' && typeof r.path === 'string' && 'handler' in r && typeof data(r, 'compile') === 'function')) return false;
      for (const r of all) {
        const method = r.method === 'ALL' ? '*' : r.method;
        if (typeof r.handler === 'function') add([method], prefix, r.path, [r.handler]);
        else name(method, join(prefix, r.path));
      }
      return true;
    },
    function adonis(x, prefix) { // the tree of its store: by domain, method and pattern
      const domains = data(x, 'domains');
      if (!is(domains) || !Array.isArray(data(x, 'tokens'))) return false;
      let any = false;
      for (const domain of Object.keys(domains)) for (const method of Object.keys(domains[domain])) {
        const by = data(domains[domain][method], 'routes');
        if (!is(by) || !is(data(domains[domain][method], 'routeKeys'))) continue;
        for (const pattern of Object.keys(by)) {
          if (method === 'HEAD' && data(data(domains[domain].GET, 'routes'), pattern)) continue;
          const handler = data(by[pattern], 'handler'), path = join(prefix || '/', pattern[0] === '/' ? pattern : '/' + pattern);
          if (typeof handler === 'function') add([method], '', path, [handler]);
          else name(method, path); // a controller, which is made when it is asked for
          any = true;
        }
      }
      return any;
    },
    function moleculer(x) { // its actions are the broker's
      const all = data(x, 'aliases');
      if (!Array.isArray(all) || !all.length || !all.every(r => is(r) && typeof r.fullPath === 'string' && r.re instanceof RegExp)) return false;
      for (const r of all) name(r.method, r.fullPath);
      return true;
    },
    function plainTable(x, prefix) { // {'GET /path': f}, {'/path': f}, {'/path': {GET: f}}, a Map of those
      const entries = x instanceof Map ? [...x.entries()].slice(0, MAX) : Object.getPrototypeOf(x) === Object.prototype || Object.getPrototypeOf(x) === null ? Object.keys(x).slice(0, MAX).map(k => [k, data(x, k)]) : [];
      let any = false;
      for (const [key, value] of entries) {
        const m = typeof key === 'string' && /^(?:(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)[ :]+)?(\/\S*)$/.exec(key);
        if (!m) continue;
        if (typeof value === 'function') add([m[1] ?? '*'], prefix, m[2], [value]);
        else if (is(value)) for (const method of Object.keys(value)) if (/^(get|post|put|patch|delete|head|options)$/i.test(method)) add([method], prefix, m[2], [data(value, method)]);
        any = true;
      }
      return any;
    },
  ];
  let held = [];
  return {
    routes,
    // listeners are the functions that the process's HTTP servers call.
    listeners(servers) {
      const all = new Set(servers ?? []);
      for (const handle of process._getActiveHandles?.() ?? []) all.add(handle);
      const out = [];
      for (const server of [...all].slice(0, 64)) {
        if (typeof server?.listeners !== 'function') continue;
        for (const event of ['request', 'stream']) for (const f of server.listeners(event)) if (!out.includes(f)) out.push(f);
      }
      return out.slice(0, 64);
    },
    // probe reads the tables among some values, and says which are none.
    probe(prefix, at, ...values) {
      return JSON.stringify(values.map(x => {
        if (!is(x)) return false;
        if (seen.has(x)) return true;
        for (const kind of kinds) {
          try {
            if (kind(x, prefix, at ?? paths)) {
              seen.add(x);
              return true;
            }
          } catch {
            continue;
          }
        }
        return false;
      }));
    },
    // inside gives what some objects or arrays hold that may be, or lead to, a table, one
    // after the other, and heldBy how much of it is of each. A module of Node's own holds
    // much, and none.
    inside(...values) {
      held = [];
      return values.flatMap(x => {
        const out = [];
        if (is(x) && typeof x !== 'function' && !ArrayBuffer.isView(x) && !standard().has(x)) {
          for (const key of Object.getOwnPropertyNames(x).slice(0, 100)) {
            const d = Object.getOwnPropertyDescriptor(x, key);
            if (d && is(d.value) && out.length < 60) out.push(d.value);
          }
        }
        held.push(out.length);
        return out;
      });
    },
    heldBy: () => JSON.stringify(held),
    // hides says whose class has private properties, which the inspector alone can read.
    hides: (...values) => JSON.stringify(values.map(x => {
      try {
        const made = is(x) && typeof x === 'object' && data(x, 'constructor');
        return typeof made === 'function' && !standard().has(x) && /#\w/.test(Function.prototype.toString.call(made));
      } catch {
        return false;
      }
    })),
    // instances gives what the heap has to be asked for: a class whose applications are
    // known to nothing but their own arrow functions.
    applications(...values) {
      return values.filter(x => typeof x === 'function' && is(x.prototype) && (/^Hono/.test(x.name) ||
        typeof data(x.prototype, '_dispatch') === 'function' && typeof data(x.prototype, '_createListener') === 'function')).map(x => x.prototype);
    },
    smallHeap: () => process.memoryUsage().heapUsed < 64 << 20,
    deferred: i => deferred[i],
    count: () => JSON.stringify({ routes: routes.length, deferred: deferred.length }),
    names: () => JSON.stringify(routes.map(r => ({ method: r.method, path: r.path, last: r.last }))),
    handlers: () => routes.map(r => r.handler),
    named: () => JSON.stringify(named),
    // lengths says over how many lines functions go.
    lengths: (...all) => JSON.stringify(all.map(f => { try { return Function.prototype.toString.call(f).split('\n').length; } catch { return 0; } })),
  };
})
