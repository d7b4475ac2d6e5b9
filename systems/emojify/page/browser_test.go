package page_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"whittle/carve/dashboard/dashboardtest"
	"whittle/systems/emojify/api"
	"whittle/systems/emojify/cache"
	emojidraw "whittle/systems/emojify/draw"
	"whittle/systems/emojify/facebox"
	"whittle/systems/emojify/facebox/faceboxtest"
	"whittle/systems/emojify/fetch"
	"whittle/systems/emojify/page"
	"whittle/systems/emojify/picture"
)

// wholeSystem has each part behind a port of its own.
func wholeSystem(t *testing.T) (url string) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := cache.Open(t.TempDir(), cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	keeper := cache.NewServer(store, prometheus.NewRegistry(), log)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- keeper.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		keeper.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	box, err := facebox.New(facebox.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	boxed := httptest.NewServer(box)
	t.Cleanup(boxed.Close)
	client, err := facebox.NewClient(boxed.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	a, err := api.New(api.Options{
		Cache: conn, Finder: client, Painter: emojidraw.New(picture.Limits{}), Page: page.Handler(),
		Fetcher: fetch.New(fetch.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}),
		Metrics: prometheus.NewRegistry(), Log: log,
		FinderTimeout: time.Minute, JobTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		a.Close(ctx)
	})
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	return srv.URL
}

// people is pigo's own test picture, three times on a wall.
func people(t testing.TB) []byte {
	t.Helper()
	one, err := jpeg.Decode(bytes.NewReader(faceboxtest.Photograph(t)))
	if err != nil {
		t.Fatal(err)
	}
	m := image.NewRGBA(image.Rect(0, 0, 1060, 460))
	draw.Draw(m, m.Rect, image.NewUniform(color.RGBA{0xc8, 0xd6, 0xe2, 0xff}), image.Point{}, draw.Src)
	for i := range 3 {
		draw.Draw(m, one.Bounds().Add(image.Pt(25+345*i, 30)), one, image.Point{}, draw.Src)
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, m, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const (
	shown    = `!document.getElementById('done').hidden`
	troubled = `!document.getElementById('trouble').hidden`
	trouble  = `document.getElementById('trouble').textContent`
)

// yellow reports whether the shown picture is an emoji's face at a place.
func yellow(b *dashboardtest.Tab, x, y int) bool {
	return b.JS(fmt.Sprintf(`(() => {
		const img = document.getElementById('picture'), c = document.createElement('canvas');
		c.width = img.naturalWidth; c.height = img.naturalHeight;
		const at = c.getContext('2d');
		at.drawImage(img, 0, 0);
		const [r, g, b] = at.getImageData(%d, %d, 1, 1).data;
		return String(r > 200 && g > 150 && b < 170 && r - b > 80);
	})()`, x, y)) == "true"
}

func TestAnAddressBecomesAPicture(t *testing.T) {
	b := dashboardtest.Open(t)
	base := wholeSystem(t)
	photo := people(t)
	pictures := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".jpg") {
			w.Write(photo)
			return
		}
		http.NotFound(w, r)
	}))
	defer pictures.Close()

	b.Do(chromedp.Navigate(base+"/"), chromedp.WaitVisible(chromedp.CSS("#url")))
	b.Do(chromedp.SendKeys(chromedp.CSS("#url"), pictures.URL+"/4.jpg\r"))
	b.Until(shown)
	for i := range 3 {
		if !yellow(b, 25+345*i+160, 30+110) || yellow(b, 25+345*i+160, 30+30) {
			t.Errorf("face %d is not covered, or more than it", i)
		}
	}
	if focused := b.JS(`document.activeElement.id`); focused != "result" {
		t.Errorf("the focus is on %q", focused)
	}

	b.Do(chromedp.Reload())
	b.Until(shown) // the link leads back to it

	b.Do(chromedp.Click(chromedp.CSS("#again")), chromedp.WaitVisible(chromedp.CSS("#url")))
	if where := b.JS(`location.hash + document.activeElement.id`); where != "url" {
		t.Errorf("another picture begins at %q", where)
	}
	for address, says := range map[string]string{
		"pictures.example/a.jpg":       "An address begins with http:// or https://.",
		"http://169.254.169.254/a.jpg": "The URL leads to an address that is not public.",
		pictures.URL + "/none":         "The picture's server responded with 404.",
	} {
		b.JS(`document.getElementById('url').value = '` + address + `', document.getElementById('ask').requestSubmit()`)
		b.Until(troubled + ` && ` + trouble + ` === ` + fmt.Sprintf("%q", says))
	}
}
