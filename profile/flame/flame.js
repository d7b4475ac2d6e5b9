'use strict'
// Draws the flame graphs of the page. A box is a button: click or Enter zooms,
// Escape zooms out, the arrows walk, and the search marks what fits.
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
  for (const figure of document.querySelectorAll('.flame')) start(figure)

  function start (figure) {
    const data = JSON.parse(figure.querySelector('script').textContent)
    const { unit, per, diff } = data
    const stage = figure.querySelector('.stage')
    const says = figure.querySelector('.says')
    const search = figure.querySelector('input')
    const reset = figure.querySelector('button.out')
    let focus = data.root
    link(data.root, null)
    const width = n => (n.b || 0) + n.a
    const share = n => width(n) / (width(data.root) || 1)

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
      path.slice(0, -1).forEach((n, depth) => rows.push({ n, depth, x: 0, w: total, above: true }))
      place(focus, path.length - 1, 0, total)
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
      reset.disabled = focus === data.root
      says.textContent = wanted ? `${counted.size} boxes fit, ${(100 * found).toFixed(1)} % of all` : describe(focus)
      if (held) held.box.focus()
    }
    function zoom (n) {
      focus = n
      draw(n)
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
      } else if (e.key === 'Escape') zoom(data.root)
    })
    search.addEventListener('input', () => draw())
    search.addEventListener('keydown', e => { if (e.key === 'Escape') { search.value = ''; draw() } })
    reset.addEventListener('click', () => zoom(data.root))
    let waiting = 0
    new ResizeObserver(() => {
      cancelAnimationFrame(waiting)
      waiting = requestAnimationFrame(() => draw())
    }).observe(stage.parentElement)
    draw()
  }
})()
