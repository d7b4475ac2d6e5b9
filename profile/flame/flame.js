'use strict'
// Draws the flame graphs of the page. A box is a button: click or Enter zooms,
// Escape zooms out, the arrows walk, and the search marks what fits. The trees of the
// other views are made of the one that the page has; what is chosen stands in the address.
;(() => {
  const tall = 20
  const text = (value, unit) => {
    if (unit === 'ns') {
      for (const [name, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) if (value >= size) return (value / size).toPrecision(3) + ' ' + name
      return value.toPrecision(3) + ' ns'
    }
    if (unit === 'B') {
      for (const [name, size] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) if (value >= size) return (value / size).toPrecision(3) + ' ' + name
      return Math.round(value) + ' B'
    }
    return value.toPrecision(3)
  }
  const width = n => (n.b || 0) + n.a
  const copy = n => ({ n: n.n, o: n.o, e: n.e, f: n.f, l: n.l, b: 0, a: 0, m: new Map() })
  const add = (to, n, sign = 1) => { to.b += sign * (n.b || 0); to.a += sign * n.a }
  // The child of a tree in the making that has the name.
  const into = (to, n) => {
    if (!to.m.has(n.n)) to.m.set(n.n, copy(n))
    return to.m.get(n.n)
  }
  const finish = n => {
    n.c = [...n.m.values()].filter(c => width(c) > 0).map(finish)
    delete n.m
    return n
  }
  const self = n => {
    const s = { b: n.b || 0, a: n.a }
    for (const c of n.c || []) add(s, c, -1)
    return { b: Math.max(s.b, 0), a: Math.max(s.a, 0) }
  }
  const own = n => n.o === 0 || n.e
  // Of each stretch of others' frames the outermost is left.
  function folded (root) {
    const walk = (n, to) => {
      for (const c of n.c || []) {
        if (!own(n) && !own(c) && n !== root) { walk(c, to); continue }
        const t = into(to, c)
        add(t, c)
        walk(c, t)
      }
    }
    const out = copy(root)
    add(out, root)
    walk(root, out)
    return finish(out)
  }
  // One endpoint's part.
  function of (root, endpoint) {
    const out = copy(root)
    const part = (root.c || []).filter(c => c.e && c.n === endpoint)
    for (const c of part) add(out, c)
    return Object.assign(finish(out), { c: part })
  }
  // The functions by what was spent in each itself, and below it who called it.
  function inverted (root) {
    const out = copy(root)
    add(out, root)
    const walk = (n, callers) => {
      const spent = self(n)
      if (width(spent) > 0 && callers.length) {
        let t = out
        for (const c of [n, ...callers.slice(1).reverse()]) add(t = into(t, c), spent)
      }
      for (const c of n.c || []) walk(c, [...callers, n])
    }
    for (const c of root.c || []) walk(c, [root])
    return sorted(finish(out))
  }
  function sorted (n) {
    n.c.sort((x, y) => width(y) - width(x) || (x.n < y.n ? -1 : 1)).forEach(sorted)
    return n
  }
  // A function, whatever called it: what it calls, and its callers.
  function sandwich (root, name) {
    let down, up
    const merge = (n, to) => { for (const c of n.c || []) { const t = into(to, c); add(t, c); merge(c, t) } }
    const walk = (n, callers) => {
      if (n.n === name && n !== root) {
        down = down || copy(n)
        up = up || copy(n)
        add(down, n)
        merge(n, down)
        add(up, n)
        let t = up
        for (const c of callers.slice(1).reverse()) add(t = into(t, c), n)
        return // recursion counts once
      }
      for (const c of n.c || []) walk(c, [...callers, n])
    }
    walk(root, [])
    return down && { down: finish(down), up: finish(up) }
  }
  document.querySelectorAll('.flame').forEach(start)

  function start (figure, number) {
    const data = JSON.parse(figure.querySelector('script').textContent)
    const { unit, per, diff } = data
    const stage = figure.querySelector('.stage')
    const says = figure.querySelector('.says')
    const search = figure.querySelector('input[type=search]')
    const reset = figure.querySelector('button.out')
    const [view, endpoint, phase] = ['view', 'endpoint', 'phase'].map(c => figure.querySelector('select.' + c))
    const fold = figure.querySelector('input.fold')
    const option = (to, value, label) => {
      const o = document.createElement('option')
      o.value = value
      o.textContent = label
      to.append(o)
    }
    for (const e of (data.root.c || []).filter(c => c.e)) option(endpoint, e.n, e.n)
    endpoint.hidden = endpoint.options.length < 2;
    (data.phases || []).forEach((p, i) => option(phase, i, p.name))
    phase.hidden = phase.options.length < 2
    let root, up, focus, named
    const share = n => width(n) / (width(whole()) || 1)
    const whole = () => phase.value === '' ? data.root : data.phases[phase.value].root

    // What is chosen, in the address: of the page's first graph without a number.
    const key = word => word + (number || '')
    function remember () {
      const at = new URLSearchParams(location.hash.slice(1))
      const set = (word, value) => value ? at.set(key(word), value) : at.delete(key(word))
      set('find', search.value)
      set('view', view.value === 'tree' ? '' : view.value)
      set('of', view.value === 'sandwich' ? named : '')
      set('fold', fold.checked ? '1' : '')
      set('endpoint', endpoint.value)
      set('phase', phase.value)
      history.replaceState(null, '', '#' + at)
    }
    function recall () {
      const at = new URLSearchParams(location.hash.slice(1))
      const get = word => at.get(key(word)) || ''
      search.value = get('find')
      view.value = ['invert', 'sandwich'].includes(get('view')) ? get('view') : 'tree'
      named = get('of')
      fold.checked = get('fold') === '1'
      endpoint.value = get('endpoint')
      phase.value = get('phase')
      if (endpoint.selectedIndex < 0) endpoint.value = ''
      if (phase.selectedIndex < 0) phase.value = ''
      build()
    }
    // Makes the tree that is chosen, and draws it.
    function build () {
      root = whole()
      up = null
      if (endpoint.value) root = of(root, endpoint.value)
      if (fold.checked) root = folded(root)
      if (view.value === 'invert') root = inverted(root)
      if (view.value === 'sandwich') {
        const s = named && sandwich(root, named)
        if (s) {
          root = s.down
          up = s.up
          link(up, null)
        }
      }
      link(root, null)
      focus = root
      draw()
    }
    function choose () {
      remember()
      build()
    }

    function link (n, parent) {
      n.parent = parent
      for (const c of n.c || []) link(c, n)
    }
    function describe (n) {
      const where = n.f ? ` — ${n.f}${n.l ? ':' + n.l : ''}` : ''
      if (diff) {
        const change = n.a - (n.b || 0)
        return `${n.n}: ${text(n.b || 0, unit)} before, ${text(n.a, unit)} after${per} (${change < 0 ? '−' : '+'}${text(Math.abs(change), unit)})${where}`
      }
      return `${n.n}: ${text(n.a, unit)}${per}, ${(100 * share(n)).toFixed(1)} %${where}`
    }
    function colour (n) {
      if (!diff) return 'owner' + n.o
      const change = (n.a - (n.b || 0)) / (width(n) || 1)
      const strength = Math.min(4, Math.round(Math.abs(change) * 4))
      return strength === 0 ? 'same' : (change > 0 ? 'dear' : 'cheap') + strength
    }
    // A box that has the focus keeps it when the page is drawn again.
    function draw (held = stage.contains(document.activeElement) ? document.activeElement.node : undefined) {
      const path = []
      for (let n = focus; n; n = n.parent) path.unshift(n)
      const rows = []
      const total = stage.clientWidth || 800
      const place = (n, depth, x, w) => {
        if (w < 1) return
        rows.push({ n, depth, x, w })
        let at = x
        for (const c of n.c || []) {
          const cw = w * width(c) / (width(n) || 1)
          place(c, depth + 1, at, cw)
          at += cw
        }
      }
      if (up) { // callers stand above the function, the nearest lowest
        for (const c of [up]) place(c, 0, 0, total)
        const high = Math.max(...rows.map(r => r.depth))
        for (const r of rows) r.depth = high - r.depth
        rows.splice(rows.findIndex(r => r.n === up), 1)
        place(root, high, 0, total)
      } else {
        path.slice(0, -1).forEach((n, depth) => rows.push({ n, depth, x: 0, w: total, above: true }))
        place(focus, path.length - 1, 0, total)
      }
      if (!rows.some(row => row.n === held)) held = undefined
      const wanted = search.value.trim().toLowerCase()
      let found = 0
      const counted = new Set()
      const boxes = document.createDocumentFragment()
      let deepest = 0
      for (const { n, depth, x, w, above } of rows) {
        const b = document.createElement('button')
        b.type = 'button'
        b.className = 'box ' + colour(n) + (above ? ' above' : '') + (w < 12 ? ' thin' : '')
        b.style.left = (100 * x / total) + '%'
        b.style.width = `calc(${100 * w / total}% - 1px)`
        b.style.top = depth * tall + 'px'
        b.tabIndex = n === (held || focus) ? 0 : -1
        b.title = describe(n)
        b.setAttribute('aria-label', describe(n))
        if (w > 24) b.textContent = n.n
        if (wanted && n.n.toLowerCase().includes(wanted)) {
          b.classList.add('found')
          let inside = false
          for (let p = n.parent; p; p = p.parent) if (counted.has(p)) inside = true
          if (!inside) found += share(n)
          counted.add(n)
        } else if (wanted) b.classList.add('dim')
        b.node = n
        n.box = b
        deepest = Math.max(deepest, depth)
        boxes.append(b)
      }
      stage.replaceChildren(boxes)
      stage.style.height = (deepest + 1) * tall + 'px'
      reset.disabled = focus === root && !up
      says.textContent = view.value === 'sandwich' && !up ? 'Choose a function: its callers and what it calls are shown.' : wanted ? `${counted.size} boxes fit, ${(100 * found).toFixed(1)} % of all` : describe(focus)
      if (held) held.box.focus()
    }
    function zoom (n) {
      if (view.value === 'sandwich') {
        named = n === data.root ? '' : n.n
        return choose()
      }
      focus = n
      draw(n)
    }
    function out () {
      if (view.value === 'sandwich') named = ''
      choose()
    }
    stage.addEventListener('click', e => { if (e.target.node) zoom(e.target.node) })
    stage.addEventListener('pointerover', e => { if (e.target.node) says.textContent = describe(e.target.node) })
    stage.addEventListener('focusin', e => { if (e.target.node) says.textContent = describe(e.target.node) })
    stage.addEventListener('keydown', e => {
      const n = e.target.node
      if (!n) return
      const siblings = n.parent ? n.parent.c : [n]
      const drawn = list => list.find(c => c.box && c.box.isConnected)
      const to = {
        ArrowUp: () => n.parent,
        ArrowDown: () => drawn(n.c || []),
        ArrowLeft: () => drawn(siblings.slice(0, siblings.indexOf(n)).reverse()),
        ArrowRight: () => drawn(siblings.slice(siblings.indexOf(n) + 1))
      }[e.key]
      if (to) {
        e.preventDefault()
        const next = to()
        if (next && next.box && next.box.isConnected) {
          n.box.tabIndex = -1
          next.box.tabIndex = 0
          next.box.focus()
        }
      } else if (e.key === 'Escape') out()
    })
    search.addEventListener('input', () => { remember(); draw() })
    search.addEventListener('keydown', e => { if (e.key === 'Escape') { search.value = ''; remember(); draw() } })
    for (const control of [view, endpoint, phase, fold]) control.addEventListener('change', choose)
    reset.addEventListener('click', out)
    // One letter each, where nobody writes: of the graph that has the focus, else the first.
    document.addEventListener('keydown', e => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== 'checkbox'
      const here = figure.contains(e.target) || number === 0 && !e.target.closest('.flame')
      if (typing || !here || e.ctrlKey || e.metaKey || e.altKey) return
      const does = {
        '/': () => search.focus(),
        t: () => { view.value = 'tree'; choose() },
        i: () => { view.value = 'invert'; choose() },
        s: () => { named = e.target.node ? e.target.node.n : ''; view.value = 'sandwich'; choose() },
        f: () => { fold.checked = !fold.checked; choose() }
      }[e.key]
      if (does) {
        e.preventDefault()
        does()
      }
    })
    window.addEventListener('hashchange', recall)
    let waiting = 0
    new ResizeObserver(() => {
      cancelAnimationFrame(waiting)
      waiting = requestAnimationFrame(() => draw())
    }).observe(stage.parentElement)
    recall()
  }
})()
