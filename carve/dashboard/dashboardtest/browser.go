// Package dashboardtest is a headless Chromium for the dashboard's tests. Any error on
// the page's console fails the test.
package dashboardtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/needs"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Patience bounds every wait; nothing is asserted about how much of it is used.
const Patience = 4 * time.Minute

// Tab is a page in a browser.
type Tab struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // the browser's own life

	width, height int64 // as Size made it; 0: as it was opened

	mu       sync.Mutex // guards the following
	expected []string
	said     []string
	asked    []string
}

// shared is the browser of all tests of a process, which Main ends.
var shared browser

type browser struct {
	wanted bool
	once   sync.Once
	ctx    context.Context //nolint:containedctx // the browser's own life
	end    context.CancelFunc
	err    error
}

func (b *browser) start(path string) { b.ctx, b.end, b.err = start(path) }

// Main runs a package's tests with one browser for all of them, since most of a short
// test's time would go into starting one. Each test has a window of its own in it that
// shares nothing with the others', neither cookies nor storage nor cache. Without Main
// each test starts its own browser.
func Main(m *testing.M) {
	shared.wanted = true
	code := m.Run()
	if shared.end != nil {
		shared.end()
	}
	os.Exit(code)
}

// start starts a browser, and says how to end it.
func start(path string) (context.Context, context.CancelFunc, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.WindowSize(1280, 900))
	ctx, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endBrowser := chromedp.NewContext(ctx)
	return ctx, func() { endBrowser(); endAllocator() }, chromedp.Do(ctx)
}

// window is a window of the shared browser, or of one of its own, and how to end it.
func window(path string) (context.Context, context.CancelFunc, error) {
	if !shared.wanted {
		return start(path)
	}
	shared.once.Do(func() { shared.start(path) })
	if shared.err != nil {
		return nil, nil, shared.err
	}
	ctx, end := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext())
	return ctx, end, chromedp.Do(ctx)
}

// Open opens an empty tab in a browser, in UTC, until the test ends. Without one
// installed the test is skipped, and says so.
func Open(t testing.TB) *Tab {
	t.Helper()
	path := needs.Browser(t)
	ctx, end, err := window(path)
	if end != nil {
		t.Cleanup(end)
	}
	fatal.If(t, err)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	b := &Tab{t: t, ctx: ctx}
	fatal.If(t, chromedp.Listen(ctx, b.heard))
	b.Do(func(ctx context.Context, to *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, to, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
		return chromedp.Void{}, err
	})
	return b
}

// heard keeps what the page complains of: errors and warnings on its console,
// what nobody caught, and what its policy forbade.
func (b *Tab) heard(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+exception(ev.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" || ev.Type == "assert" {
			var text []string
			for _, a := range ev.Args {
				text = append(text, string(a.Value)+a.Description)
			}
			b.said = append(b.said, "console: "+strings.Join(text, " "))
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			b.said = append(b.said, fmt.Sprintf("%s: %s %s", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, ev.Request.URL)
	}
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}

// Expect names complaints that are part of the test, by a part of their text.
func (b *Tab) Expect(parts ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, parts...)
}

// Clean fails the test for every complaint that was not expected, and for every
// address asked that does not begin with base.
func (b *Tab) Clean(base string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
next:
	for _, s := range b.said {
		for _, part := range b.expected {
			if strings.Contains(s, part) {
				continue next
			}
		}
		b.t.Errorf("the page complains: %s", s)
	}
	for _, url := range b.asked {
		if !strings.HasPrefix(url, base) && !strings.HasPrefix(url, "data:") && url != "about:blank" {
			b.t.Errorf("the page asked for %s", url)
		}
	}
}

// Asked gives the addresses that were asked, oldest first.
func (b *Tab) Asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.asked...)
}

// Do takes steps in the tab.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	fatal.If(b.t, chromedp.Do(b.ctx, steps...))
}

// Go opens an address.
func (b *Tab) Go(url string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(url))
}

// JS gives what an expression comes to as a string, a promise's value included.
func (b *Tab) JS(expression string) string {
	b.t.Helper()
	value, err := b.eval(expression)
	if err != nil {
		b.t.Fatalf("%.300s: %v", expression, err)
	}
	return value
}

func (b *Tab) eval(expression string) (string, error) {
	return chromedp.Run(b.ctx, chromedp.Evaluate[string]("(async () => String(await ("+expression+")))()", chromedp.EvalAwaitPromise))
}

// Until waits for a condition, and says what the page shows if it never comes.
func (b *Tab) Until(condition string) {
	b.t.Helper()
	look := fmt.Sprintf(`new Promise(found => {
		const end = Date.now() + %d;
		let pause = 10; // ms, longer each time: looking costs what is looked at
		const look = () => { let ok = false; try { ok = %s; } catch {} ok ? found('') : Date.now() > end ? found('!' + document.body.innerText) : setTimeout(look, pause = Math.min(1.5 * pause, 100)); };
		look();
	})`, Patience.Milliseconds(), condition)
	got, err := b.eval(look)
	// A page that loads itself again takes the question with it.
	for end := time.Now().Add(Patience); err != nil && strings.Contains(err.Error(), "navigated or closed") && time.Now().Before(end); {
		got, err = b.eval(look)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", condition, err)
	}
	if got != "" {
		b.Shoot("failed")
		b.mu.Lock()
		defer b.mu.Unlock()
		b.t.Fatalf("%s never came; the page says %q and complains %q", condition, got[1:], b.said)
	}
}

// UntilText waits until the page shows a text; its spaces may be any.
func (b *Tab) UntilText(text string) {
	b.t.Helper()
	b.Until(`document.body.innerText.replaceAll('\u00a0', ' ').includes(` + Quote(text) + `)`)
}

// Click presses the first element that fits a selector and whose text begins
// so. Empty text: any.
func (b *Tab) Click(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%s)].find(e => e.textContent.trim().startsWith(%s))`, Quote(selector), Quote(text))
	for end := time.Now().Add(Patience); ; {
		b.Until(find + ` !== undefined`)
		// The page may be drawn anew in between.
		if b.JS(`(e => { e?.click(); return !!e; })(`+find+`)`) == "true" {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s %q comes and goes", selector, text)
		}
	}
}

// Type puts a text into a field, as a person would.
func (b *Tab) Type(selector, text string) {
	b.t.Helper()
	b.Do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Key presses one key, "\t" or "\u001b".
func (b *Tab) Key(key string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(key))
}

// Size makes the window so large, a phone where it is narrow.
func (b *Tab) Size(width, height int64) {
	b.t.Helper()
	b.width, b.height = width, height
	var options []chromedp.EmulateViewportOption
	if width < 500 {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	b.Do(chromedp.EmulateViewport(width, height, options...))
}

// Prefer sets a media feature: "prefers-color-scheme", "dark".
func (b *Tab) Prefer(feature, value string) {
	b.t.Helper()
	b.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: feature, Value: value}},
		})
		return chromedp.Void{}, err
	})
}

// Picture is the window as a PNG.
func (b *Tab) Picture() []byte {
	b.t.Helper()
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	fatal.If(b.t, err)
	return shot
}

// Shoot keeps a picture of the whole page for people, where SCREENSHOTS names a
// folder.
func (b *Tab) Shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	// What is out of sight is not laid out before it comes into it, so the
	// window is made as long as the page.
	width, height := b.width, b.height
	if width == 0 {
		width, height = 1280, 900
	}
	long, err := strconv.ParseInt(b.JS(`document.documentElement.scrollHeight`), 10, 64)
	fatal.If(b.t, err)
	b.Size(width, max(height, long))
	defer b.Size(width, height)
	b.JS(`new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(seen, 100))))`)
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// Quote writes a text as a JavaScript string.
func Quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be written
	}
	return string(b)
}
