// How Artillery calls a processor's functions: with a callback where they are plain
// functions, and by their promise where they are async.
(function () {
  const randomNumber = (a = 0, b) => {
    const low = b === undefined ? 0 : Math.min(a, b), high = b === undefined ? (a || 1) : Math.max(a, b);
    return low + Math.floor(Math.random() * (high - low + 1));
  };
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
  const randomString = (n = 10) => {
    let s = '';
    while (s.length < n) s += letters[Math.floor(Math.random() * letters.length)];
    return s;
  };
  const find = (vars, path) => path.replace(/\[['"]?([^\]'"]*)['"]?\]/g, '.$1').split('.').reduce((v, k) => v === undefined || v === null ? undefined : v[k], vars);
  const template = (vars, v) => {
    if (Array.isArray(v)) return v.map(x => template(vars, x));
    if (v && v.constructor === Object) return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, template(vars, x)]));
    if (typeof v !== 'string') return v;
    const sole = /^{{{?\s*([\s$\w.[\]'"-]+?)\s*}}}?$/.exec(v);
    if (sole) return find(vars, sole[1]);
    return v.replace(/{{{?\s*([\s$\w.[\]'"-]+?)\s*}}}?/g, (_, name) => { const x = find(vars, name); return typeof x === 'object' ? JSON.stringify(x) : String(x); });
  };
  // To the engine an async method is a plain function, so its text has to tell; a plain
  // method may be called async.
  const asyncMethod = f => /^async(\s+[^\s(\/]|[\["'])/.test(Function.prototype.toString.call(f));
  const plain = f => f.constructor.name === 'Function' && !asyncMethod(f);
  const failed = (e, done) => done(e === undefined || e === null || e === false || e === 0 || e === '' ? null : e);
  const run = (f, args, done) => {
    if (plain(f)) f(...args, e => failed(e, done));
    else f(...args).then(v => failed(v, done), e => done(e === undefined ? new Error('rejected') : e));
  };
  const events = {
    emit: () => true, on: () => events, once: () => events, off: () => events, removeListener: () => events, addListener: () => events,
  };
  const absolute = (url, target) => typeof url === 'string' && url.startsWith('/') ? target + url : url;
  const text = (k, v) => v && v.type === 'Buffer' && Array.isArray(v.data) ? Buffer.from(v.data).toString() : v;
  // What of a request's parameters makes a request; a hook that changed none of it has
  // the plan's request sent.
  const canonical = (p, own) => JSON.stringify({
    url: p.uri || p.url, method: p.method, json: p.json || undefined, body: p.json ? undefined : p.body, headers: p.headers, form: p.form,
    formData: own.formData ? p.formData : undefined, qs: own.qs, cookie: p.cookie, auth: p.auth, followRedirect: p.followRedirect,
    gzip: own.gzip, name: p.name, allowGetBody: p.allowGetBody,
  }, text);
  return {
    context: (vars, scenario) => ({
      vars, scenario: {name: scenario}, _uid: vars.$uuid, _successCount: 0,
      funcs: {$randomNumber: randomNumber, $randomString: randomString, $template: v => template(vars, v)},
    }),
    step: (f, context, done) => {
      if (plain(f)) f(context, events, e => failed(e, done));
      else f(context, events).then(() => done(null), e => done(e === undefined ? new Error('rejected') : e));
    },
    // The plan's parameters are one object for all users, as in Artillery: what a hook
    // changes deep within them stays.
    params: json => { const own = JSON.parse(json); return {own, pristine: canonical({...own, url: own.url || own.uri, uri: undefined}, own)}; },
    before: (f, params, context, done) => run(f, [params, context, events], done),
    after: (f, params, response, context, done) => run(f, [params, response, context, events], done),
    begin: (step, method, target, timeout) => ({...step.own, url: absolute(step.own.url || step.own.uri, target), method, timeout, uuid: crypto.randomUUID()}),
    changed: (step, p, target) => {
      const q = {...p};
      for (const k of ['url', 'uri']) if (typeof q[k] === 'string' && target && q[k].startsWith(target + '/')) q[k] = q[k].slice(target.length);
      q.method = undefined;
      const own = canonical({...q}, step.own);
      const now = own === step.pristine && p.method === p.method.toUpperCase() ? '' : canonical(q, step.own);
      return now;
    },
    condition: (f, vars) => !!f(vars),
    more: (f, context, done) => f(context, b => done(!!b)),
    response: (status, headers, body, url) => ({statusCode: status, statusMessage: '', headers, body, url, timings: {phases: {}}, rawHeaders: [], httpVersion: '1.1'}),
  };
})
