package flame

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"whittle/internal/chart"
	"whittle/internal/needs"
	"whittle/profile"
)

// sample makes a profile of stacks, root first, "a;b;c".
func sample(rt profile.Runtime, requests int64, stacks map[string]int64) *profile.Profile {
	p := &profile.Profile{Kind: profile.CPU, Runtime: rt, Duration: time.Second, Requests: map[string]int64{"POST /Count": requests}}
	at := map[string]int32{}
	for stack, value := range stacks {
		s := profile.Sample{Value: value, Endpoint: "POST /Count", At: -1}
		names := strings.Split(stack, ";")
		for i := len(names) - 1; i >= 0; i-- {
			f, ok := at[names[i]]
			if !ok {
				f = int32(len(p.Functions))
				at[names[i]] = f
				p.Functions = append(p.Functions, profile.Function{Name: names[i], File: "shop/" + names[i] + ".go", Line: 7})
			}
			s.Stack = append(s.Stack, profile.Frame{Function: f})
		}
		p.Samples = append(p.Samples, s)
	}
	return p
}

func pageOf(t *testing.T, figures ...chart.Figure) []byte {
	t.Helper()
	page := chart.Page{Title: "A profile", Sections: []chart.Section{{Figures: figures}}}
	Equip(&page)
	var b bytes.Buffer
	if err := page.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestNamesCannotEndTheElement(t *testing.T) {
	fig, err := Of(sample(profile.Go, 1, map[string]int64{"main;</script><script>alert(1)": 10}))
	if err != nil {
		t.Fatal(err)
	}
	if b := pageOf(t, fig); bytes.Contains(b, []byte("alert(1)")) && bytes.Contains(b, []byte("</script><script>alert")) {
		t.Error("a function's name is script")
	}
}

func TestAGraphIsBounded(t *testing.T) {
	stacks := map[string]int64{}
	for i := range 60_000 {
		stacks[fmt.Sprintf("main;f%d;g%d", i%300, i)] = 1
	}
	root := newNode("all")
	root.add(sample(profile.Go, 1, stacks), 1, after)
	b, err := root.tree(maxNodes)
	if err != nil {
		t.Fatal(err)
	}
	var drawn box
	if err := json.Unmarshal(b, &drawn); err != nil {
		t.Fatal(err)
	}
	if n := countBoxes(&drawn); n > maxNodes || n < 300 {
		t.Errorf("%d boxes of at most %d", n, maxNodes)
	}
	if drawn.After != 60_000 {
		t.Errorf("the whole is %v: what is not drawn still counts", drawn.After)
	}
}

func countBoxes(b *box) int {
	n := 1
	for _, c := range b.Children {
		n += countBoxes(c)
	}
	return n
}

// browser gives a tab of a headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := needs.Browser(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.WindowSize(1200, 900))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

func TestThePageInABrowser(t *testing.T) {
	before := sample(profile.Node, 10, map[string]int64{"main;handle;draw": 9e9, "main;handle;JSON.stringify": 1e9})
	after := sample(profile.Go, 10, map[string]int64{"main;handle;sum": 1e8, "main;serve": 2e8})
	one, err := Of(before)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Between(before, after)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, one, two)
	if to := os.Getenv("FLAME_PAGE"); to != "" {
		if err := os.WriteFile(to, page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/favicon.ico" {
			t.Errorf("the page asked for %s", r.URL)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	}))
	defer srv.Close()
	ctx := browser(t)
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatal(err)
		}
	}
	js := func(expression string) string {
		t.Helper()
		value, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	const says = `document.querySelector('.flame .says').textContent`
	do(chromedp.Navigate(srv.URL), chromedp.WaitVisible(chromedp.CSS(".flame .box")))
	all := js(`[...document.querySelectorAll('.flame')[0].querySelectorAll('.box')].map(b => b.textContent).join(' ')`)
	zoomed := js(`[...document.querySelectorAll('.flame')[0].querySelectorAll('.box')].find(b => b.textContent === 'draw').click(); ` + says)
	focused := js(`document.activeElement.textContent`)
	// Whoever reads by keyboard keeps the place when the window changes.
	kept, err := chromedp.Run(ctx, chromedp.Evaluate[string](`new Promise(done => {
		document.querySelector('.flame').parentElement.style.width = '500px'
		let frames = 0
		const next = () => frames++ < 5 ? requestAnimationFrame(next) : done(document.activeElement.textContent)
		next()
	})`, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	do(chromedp.Click(chromedp.CSS(".flame .out")), chromedp.SendKeys(chromedp.CSS(".flame input"), "stringify"))
	found, outer := js(says), js(`String(document.querySelector('.flame .out').disabled)`)
	difference := js(`[...document.querySelectorAll('.flame')[1].querySelectorAll('.box')].map(b => b.title.split(':')[0] + '=' + b.className.split(' ')[1]).join(' ')`)
	for _, want := range []string{"all", "POST /Count", "main", "handle", "draw", "JSON.stringify"} {
		if !strings.Contains(all, want) {
			t.Errorf("boxes %q lack %s", all, want)
		}
	}
	if !strings.Contains(zoomed, "draw: 9.00 s, 90.0 % — shop/draw.go:7") || focused != "draw" || kept != "draw" {
		t.Errorf("zoomed in: %q, the focus is on %.40q, and on %.40q in a narrower window", zoomed, focused, kept)
	}
	if !strings.Contains(found, "1 boxes fit, 10.0 % of all") || outer != "true" {
		t.Errorf("found %q, zoomed out: %s", found, outer)
	}
	for _, want := range []string{"draw=cheap4", "sum=dear4", "handle=cheap4", "serve=dear4"} {
		if !strings.Contains(difference, want) {
			t.Errorf("the difference %q lacks %s", difference, want)
		}
	}
}

// The other views are made in the page of the one tree, and stand in its address.
func TestViewsInABrowser(t *testing.T) {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Duration: 10 * time.Second}
	index := map[string]int32{}
	for i, s := range []struct {
		endpoint, stack string
		value           int64
	}{
		{"GET /a", "router;layer;work;parse;scan", 4e9},
		{"GET /a", "router;layer;work;sum", 3e9},
		{"GET /b", "router;layer;list;parse;scan", 2e9},
		{"", "router", 1e9},
	} {
		var stack []profile.Frame
		for name := range strings.SplitSeq(s.stack, ";") {
			n, ok := index[name]
			if !ok {
				n = int32(len(p.Functions))
				index[name] = n
				f := profile.Function{Name: name, File: "a.js", Line: 1}
				if name == "router" || name == "layer" || name == "parse" || name == "scan" {
					f.Owner = profile.Library
				}
				p.Functions = append(p.Functions, f)
			}
			stack = append([]profile.Frame{{Function: n}}, stack...)
		}
		p.Samples = append(p.Samples, profile.Sample{Stack: stack, Value: s.value, Endpoint: s.endpoint, At: time.Duration(i) * time.Second})
	}
	fig, err := Of(p, Phase{"warm", 0, time.Second}, Phase{"busy", time.Second, 9 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, fig)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	}))
	defer srv.Close()
	ctx := browser(t)
	js := func(expression string) string {
		t.Helper()
		value, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	// Each box as "depth:name=share", by rows.
	const boxes = `[...document.querySelectorAll('.flame .box')].sort((x, y) => parseInt(x.style.top) - parseInt(y.style.top) || parseFloat(x.style.left) - parseFloat(y.style.left))
		.map(b => parseInt(b.style.top) / 20 + ':' + b.node.n + '=' + Math.round(b.node.a / 1e8)).join(' ')`
	press := func(key string) string {
		return `(document.querySelector('.flame .box:focus') || document.body).dispatchEvent(new KeyboardEvent('keydown', {key: '` + key + `', bubbles: true})); `
	}
	set := func(class, value string) string {
		return `{const s = document.querySelector('.flame .` + class + `'); s.value = '` + value + `'; s.dispatchEvent(new Event('change'))}; `
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(srv.URL), chromedp.WaitVisible(chromedp.CSS(".flame .box"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ does, want, address string }{
		{"", "0:all=100 1:GET /a=70 1:GET /b=20 1:router=10 2:router=70 2:router=20 3:layer=70 3:layer=20 4:work=70 4:list=20 5:parse=40 5:sum=30 5:parse=20 6:scan=40 6:scan=20", ""},
		{press("f"), "0:all=100 1:GET /a=70 1:GET /b=20 1:router=10 2:router=70 2:router=20 3:work=70 3:list=20 4:parse=40 4:sum=30 4:parse=20", "fold=1"},
		{press("f") + set("endpoint", "GET /b"), "0:all=20 1:GET /b=20 2:router=20 3:layer=20 4:list=20 5:parse=20 6:scan=20", "endpoint=GET+%2Fb"},
		{set("endpoint", "") + set("phase", "0"), "0:warm=40 1:GET /a=40 2:router=40 3:layer=40 4:work=40 5:parse=40 6:scan=40", "phase=0"},
		{set("phase", "") + press("i"), "0:all=100 1:scan=60 1:sum=30 1:router=10 2:parse=60 2:work=30 3:work=40 3:list=20 3:layer=30 4:layer=40 4:layer=20 4:router=30 5:router=40 5:router=20 5:GET /a=30 6:GET /a=40 6:GET /b=20", "view=invert"},
		{set("view", "sandwich") + `[...document.querySelectorAll('.flame .box')].find(b => b.node.n === 'parse').click(); `, "0:GET /a=40 0:GET /b=20 1:router=40 1:router=20 2:layer=40 2:layer=20 3:work=40 3:list=20 4:parse=60 5:scan=60", "view=sandwich&of=parse"},
		{press("t"), "0:all=100 1:GET /a=70 1:GET /b=20 1:router=10 2:router=70 2:router=20 3:layer=70 3:layer=20 4:work=70 4:list=20 5:parse=40 5:sum=30 5:parse=20 6:scan=40 6:scan=20", ""},
		{`location.hash = '#find=sum&view=invert&fold=1'; window.dispatchEvent(new Event('hashchange')); `, "0:all=100 1:parse=60 1:sum=30 1:router=10 2:work=40 2:list=20 2:work=30 3:router=40 3:router=20 3:router=30 4:GET /a=40 4:GET /b=20 4:GET /a=30", "find=sum&view=invert&fold=1"},
	} {
		if got := js(c.does + boxes); got != c.want {
			t.Errorf("after %s\n got %s\nwant %s", c.does, got, c.want)
		}
		if got := js(`location.hash.slice(1)`); got != c.address {
			t.Errorf("after %s the address is %q, want %q", c.does, got, c.address)
		}
	}
	if found := js(`document.querySelector('.flame input').value + [...document.querySelectorAll('.flame .found')].map(b => b.node.n)`); found != "sumsum" {
		t.Errorf("the address's search found %q", found)
	}
	if typed := js(`document.querySelector('.flame input').focus(); document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 't', bubbles: true})); document.querySelector('.flame .view').value`); typed != "invert" {
		t.Errorf("a letter that was typed changed the view to %s", typed)
	}
}
