package dashboard_test

import (
	"fmt"
	"strconv"
	"testing"

	"whittle"
	"whittle/carve/dashboard/dashboardtest"
	"whittle/internal/fatal"
)

// everywhere visits each kind of page with everything on it unfolded.
func everywhere(b *dashboardtest.Tab, g *world, look func(place string)) {
	for _, at := range []struct{ place, ready string }{
		{"#/", rows + ` > 10`},
		{"#/route/" + counted, `document.querySelectorAll('.uplot').length === 8 && document.querySelectorAll('.finding').length === 1`},
		{"#/route/GET%20%2Fbad", `document.querySelectorAll('.finding').length === 5`},
		{"#/route/GET%20%2Fquiet", `document.querySelector('.findings .empty')`},
	} {
		b.Go(g.url + at.place)
		b.Until(at.ready)
		// What is unfolded may hold more to unfold.
		b.Until(`(document.querySelectorAll('main details:not([open]) > summary').forEach(e => e.click()), ` +
			`document.querySelectorAll('details[open]').length === document.querySelectorAll('details').length)`)
		look(at.place)
	}
	b.Go(g.url + "#/route/" + counted)
	b.Click("[data-verb=rollback]", "")
	b.Until(dialog)
	look("a dialog")
}

func varied(t *testing.T) *world {
	long := shifting("GET /a/very/long/path/that/nobody/should/have/written/{organisation}/{department}/{employee}/{document...}")
	return serve(t, append(many(20), shifting("POST /Count"), different("GET /bad"), idleRoute("GET /quiet"), long))
}

// faint lists texts whose contrast is below WCAG's AA: 4.5 to 1, and 3 to 1 for
// large ones. What is disabled is exempt.
const faint = `(() => {
	const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
	const rgba = colour => { paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); return [...paint.getImageData(0, 0, 1, 1).data]; };
	const over = (a, b) => { const k = a[3] / 255; return [0, 1, 2].map(i => a[i] * k + b[i] * (1 - k)).concat(255); };
	const back = el => { let layers = []; for (let e = el; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); layers.push(c); if (c[3] === 255) break; }
		return layers.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 255]); };
	const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const found = new Set();
	for (const el of document.querySelectorAll('body *')) {
		if (![...el.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !el.checkVisibility({visibilityProperty: true}) || el.closest('.unseen, [aria-disabled], :disabled, option')) continue;
		const style = getComputedStyle(el), behind = back(el), front = over(rgba(style.color), behind);
		const [x, y] = [light(front), light(behind)].sort((a, b) => b - a), ratio = (x + 0.05) / (y + 0.05);
		const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
		if (ratio < (large ? 3 : 4.5)) found.add(el.tagName + '.' + el.className + ' ' + ratio.toFixed(2) + ' "' + el.textContent.slice(0, 30) + '"');
	}
	return [...found].join('\n');
})()`

func TestContrast(t *testing.T) {
	g := varied(t)
	b := open(t, g, "")
	everywhere(b, g, func(place string) {
		for _, theme := range []string{"light", "dark"} {
			b.Prefer("prefers-color-scheme", theme)
			b.Until(`document.getAnimations().every(a => !(a instanceof CSSTransition))`)
			fatal.Same(t, b.JS(faint), "", "%s, %s: too faint", theme, place)
		}
	})
	b.Clean(g.url)
}

// TestWidths holds that nothing is wider than the window, from the smallest
// phones on, and that what is pressed there is large enough for a finger.
func TestWidths(t *testing.T) {
	g := varied(t)
	b := open(t, g, "")
	for _, widths := range [][]int64{{360, 390, 768, 1024, 1259}, {1280, 1260}} { // drawn for the first, and resized
		b.Size(widths[0], 740)
		everywhere(b, g, func(place string) {
			for _, width := range widths {
				b.Size(width, 740)
				wide := fmt.Sprintf(`[document.documentElement.scrollWidth, `+
					`...[...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && e.getBoundingClientRect().right > %d && `+
					`!e.closest('.scroll, .chips, .unseen, pre') && !(innerWidth < 1260 && e.closest('thead')))`+
					`.map(e => e.tagName + '.' + e.className)].slice(0, 8).join(' ')`, width+1)
				// Charts follow the window within a few frames.
				if got := b.JS(fmt.Sprintf(`new Promise(found => { let frames = 30; const look = () => { const got = %s; `+
					`got === '%d' || --frames === 0 ? found(got) : requestAnimationFrame(look); }; look(); })`, wide, width)); got != strconv.FormatInt(width, 10) {
					t.Errorf("%s is wider than %d pixels: %s", place, width, got)
				}
				if got := b.JS(`(() => { const x = e => Math.round(e.getBoundingClientRect().right), of = s => [...document.querySelectorAll(s)].map(x).join(' '); ` +
					`return innerWidth < 1260 || of('.routes thead tr:last-child th') === of('.routes tbody tr:first-child td.n') })()`); got != "true" {
					t.Errorf("%s at %d pixels: the heads of the table are not above their columns", place, width)
				}
				if width > 500 {
					continue
				}
				if got := b.JS(`[...document.querySelectorAll('main button, main select, main input:not([type=checkbox]):not([type=radio])')]` +
					`.filter(e => e.checkVisibility() && !e.closest('.unseen, thead') && e.getBoundingClientRect().height < 36)` +
					`.map(e => e.className + ' ' + e.textContent).join('\n')`); got != "" {
					t.Errorf("%s has what no finger hits: %s", place, got)
				}
			}
			b.Size(widths[0], 740)
		})
	}
	b.Clean(g.url)
}

// TestSaidToScreenReaders checks what can be checked without one.
func TestSaidToScreenReaders(t *testing.T) {
	g := varied(t)
	b := open(t, g, "")
	everywhere(b, g, func(place string) {
		for what, wrong := range map[string]string{
			"headings that are not one h1 and then without a gap": `(() => { const levels = [...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')]` +
				`.filter(e => !e.closest('dialog')).map(e => +e.tagName[1]);
				return levels.filter((l, i) => i === 0 ? l !== 1 : l === 1 || l > levels[i - 1] + 1).join(); })()`,
			"headings that say nothing": `[...document.querySelectorAll('h1, h2, h3, h4, th, caption')].filter(e => !e.textContent.trim()).map(e => e.outerHTML.slice(0, 80)).join('\n')`,
			"controls without a name": `[...document.querySelectorAll('button, select, input, summary, a')]` +
				`.filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.[0]?.textContent.trim())).map(e => e.outerHTML.slice(0, 80)).join('\n')`,
			"tables without a caption":     `[...document.querySelectorAll('table')].filter(e => !e.caption?.textContent).length || ''`,
			"header cells without a scope": `[...document.querySelectorAll('th')].filter(e => !e.scope).map(e => e.textContent).join()`,
			"pictures without a text":      `[...document.querySelectorAll('[role=img], img, [role=meter]')].filter(e => !e.ariaLabel).length || ''`,
			"drawings that are read out":   `[...document.querySelectorAll('canvas, svg')].filter(e => !e.closest('[aria-hidden], [role=img]')).length || ''`,
			"ids that are there twice":     `(all => all.filter((id, i) => all.indexOf(id) !== i).join())([...document.querySelectorAll('[id]')].map(e => e.id))`,
			"labels that lead nowhere": `[...document.querySelectorAll('[aria-labelledby], [aria-describedby], label[for]')]` +
				`.filter(e => !document.getElementById(e.getAttribute('aria-labelledby') ?? e.getAttribute('aria-describedby') ?? e.htmlFor))` +
				`.map(e => e.outerHTML.slice(0, 80)).join('\n')`,
		} {
			fatal.Same(t, b.JS(wrong), "", "%s: %s", place, what)
		}
		fatal.Same(t, b.JS(`['header', 'main', '[role=status]'].every(s => document.querySelector(s))`), "true", "the landmarks of %s", place)
	})
	b.Go(g.url + "#/route/%20") // of no route
	b.Until(`document.querySelector('h1')?.textContent === 'Routes'`)
	b.Clean(g.url)
}

func TestByKeyboard(t *testing.T) {
	g := serve(t, []whittle.RouteStatus{shifting("POST /Count")})
	b := open(t, g, "")
	b.Until(rows + ` === 1`)
	focused := func() string {
		return b.JS(`(e => (e.textContent || e.name || e.id).trim().slice(0, 24))(document.activeElement)`)
	}
	var order []string
	for range 6 {
		b.Key("\t")
		order = append(order, focused())
		if got := b.JS(`(s => s.outlineStyle + s.outlineWidth)(getComputedStyle(document.activeElement))`); got == "none0px" {
			t.Errorf("nobody sees that the focus is on %q", order[len(order)-1])
		}
	}
	want := []string{"Skip to the content", "whittle", "SystemLightDark", "search", "All 1", "Equivalent 1"}
	for i := range want {
		if order[i] != want[i] {
			t.Fatalf("the focus goes over %q, not %q", order, want)
		}
	}
	b.JS(`document.querySelector('.name a').focus()`)
	b.Key("\r")
	b.Until(`document.activeElement.tagName === 'H1' && document.querySelector('[data-verb]')`)
	for range 12 {
		if b.JS(`document.activeElement.dataset.verb ?? ''`) == "rollback" {
			break
		}
		b.Key("\t")
	}
	b.Key("\r")
	b.Until(dialog + ` && document.activeElement.name === 'reason'`)
	for range 8 {
		b.Key("\t")
		if b.JS(`document.activeElement === document.body || `+dialog+`.contains(document.activeElement)`) != "true" {
			t.Fatalf("the focus left the dialog for %q", focused())
		}
	}
	b.Key("\u001b")
	b.Until(`!document.querySelector('dialog') && document.activeElement.dataset.verb === 'rollback'`)
	fatal.Same(t, len(g.given()), 0, "orders given")
	b.Clean(g.url)
}

// TestADefectOfThePage holds that it is said, and left behind with the page.
func TestADefectOfThePage(t *testing.T) {
	g := serve(t, []whittle.RouteStatus{shifting("POST /Count")})
	b := open(t, g, "")
	b.Until(live)
	b.Expect("TypeError")
	b.JS(`import(document.querySelector('script[type=module]').src.replace('main.js', 'live.js')).then(m => m.status.set({...m.status.get(), routes: [{...m.status.get().routes[0], ledger: null}]}))`)
	b.UntilText("This page has a bug")
	b.Click(".notice button", "Reload")
	b.Until(rows + ` === 1`)
	b.Clean(g.url)
}
