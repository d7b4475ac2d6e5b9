package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"whittle"
	"whittle/carve/gateway/resolve/dnstest"
	"whittle/internal/fatal"
	"whittle/systems/emojify/picture"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dot(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))))
	return b.Bytes()
}

// loopback is one address: the rest of 127.0.0.0/8 stays forbidden.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func TestAPictureComes(t *testing.T) {
	want := dot(t, 30, 20)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" || r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("sent %v", r.Header)
		}
		if hop := r.URL.Query().Get("hop"); hop != "" && hop != "0" {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, fmt.Sprintf("/?hop=%d", hop[0]-'1'), http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		w.Write(want)
	})
	f := New(Options{Allow: loopback})
	for _, path := range []string{"/?type=image/png", "/?type=image/jpeg", "/?type=application/octet-stream", "/?type=", "/?hop=3", "/#part"} {
		if got, err := f.Fetch(t.Context(), srv.URL+path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
}

// says responds with a status, a body and a header, which is names and values in turn.
func says(status int, body []byte, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for pair := range slices.Chunk(header, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		w.Write(body)
	}
}

func TestResponsesThatAreRefused(t *testing.T) {
	small := dot(t, 30, 20)
	huge := dot(t, 200, 200)
	f := New(Options{Allow: loopback, Limits: picture.Limits{Bytes: 5_000, Pixels: 10_000}})
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		code whittle.Code
		says string
	}{
		"not found":                        {says(404, nil), whittle.Invalid, "responded with 404"},
		"part of it":                       {says(206, small), whittle.Invalid, "responded with 206"},
		"busy":                             {says(429, nil), whittle.Unavailable, "responded with 429"},
		"broken":                           {says(502, nil), whittle.Unavailable, "responded with 502"},
		"a page":                           {says(200, small, "Content-Type", "text/html"), whittle.Invalid, "text/html"},
		"a page that says it is a picture": {says(200, []byte("<html>secret</html>"), "Content-Type", "image/png"), whittle.Invalid, "no JPEG, PNG or GIF"},
		"compressed":                       {says(200, small, "Content-Encoding", "gzip"), whittle.Invalid, "compresses"},
		"too many bytes, said":             {says(200, make([]byte, 5001), "Content-Type", "image/png", "Content-Length", "5001"), whittle.ResourceExhausted, "5000 bytes"},
		"too many bytes, not said": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			for range 100 {
				w.Write(make([]byte, 1000))
				w.(http.Flusher).Flush()
			}
		}, whittle.ResourceExhausted, "5000 bytes"},
		"too many pixels":    {says(200, huge), whittle.ResourceExhausted, "200 by 200"},
		"broken off":         {says(200, small, "Content-Length", "4000"), whittle.Unavailable, "cannot be reached"},
		"a long header":      {says(200, nil, "X-Long", strings.Repeat("a", 2*maxHeader)), whittle.Unavailable, "cannot be reached"},
		"for ever":           {says(302, nil, "Location", "/"), whittle.Invalid, "more than 3 times"},
		"on to a file":       {says(302, nil, "Location", "file:///etc/passwd"), whittle.Invalid, "http://"},
		"on to metadata":     {says(307, nil, "Location", "http://169.254.169.254/latest/meta-data/"), whittle.PermissionDenied, "not public"},
		"on with a password": {says(302, nil, "Location", "http://a:b@127.0.0.1/"), whittle.Invalid, "password"},
	} {
		got, err := f.Fetch(t.Context(), serve(t, c.h).URL)
		coded, ok := errors.AsType[*whittle.Error](err)
		if !ok || got != nil || coded.Code != c.code || !strings.Contains(coded.Message, c.says) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestLoopbackIsForbiddenAsItComes(t *testing.T) {
	var asked atomic.Int32
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1) })
	port := srv.Listener.Addr().(*net.TCPAddr).Port
	f := New(Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0", "0.0.0.0", "2130706433", "0x7f.1", "127.1", "0177.0.0.1"} {
		_, err := f.Fetch(t.Context(), fmt.Sprintf("http://%s:%d/", host, port))
		if err == nil {
			t.Errorf("%s is fetched from", host)
		}
	}
	fatal.Same(t, asked.Load(), 0, "requests arrived")
}

// resolver asks one server.
func resolver(s *dnstest.Server) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Address)
	}}
}

// A name that is of an allowed address when it is first asked for, and of a
// forbidden one when it is asked for again, on the redirect.
func TestANameThatChangesItsAddress(t *testing.T) {
	var asked atomic.Int32
	names := dnstest.New(t)
	names.Set("rebinds.example", 0, "127.0.0.1")
	var port int
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		names.Set("rebinds.example", 0, "127.0.0.2")
		http.Redirect(w, r, fmt.Sprintf("http://rebinds.example:%d/again", port), http.StatusFound)
	})
	port = srv.Listener.Addr().(*net.TCPAddr).Port
	f := New(Options{Allow: loopback, resolver: resolver(names)})
	_, err := f.Fetch(t.Context(), fmt.Sprintf("http://rebinds.example:%d/", port))
	whittletest.Refused(t, err, whittle.PermissionDenied, "moved to 127.0.0.2")
	fatal.Same(t, asked.Load(), 1, "requests arrived")
}

func TestNamesOfForbiddenAddresses(t *testing.T) {
	addresses := map[string]string{
		"metadata.example": "169.254.169.254", "private.example": "10.0.0.1", "loopback.example": "127.0.0.1",
		"mapped.example": "::ffff:127.0.0.1", "nat64.example": "64:ff9b::7f00:1", "local.example": "fd00::1", "none.example": "",
	}
	names := dnstest.New(t)
	for name, address := range addresses {
		names.Set(name, 0, strings.Fields(address)...)
	}
	f := New(Options{resolver: resolver(names)})
	for name, address := range addresses {
		want := whittle.PermissionDenied
		if address == "" {
			want = whittle.Invalid
		}
		_, err := f.Fetch(t.Context(), "http://"+name+"/")
		fatal.Same(t, whittle.CodeOf(err), want, "%s is %s: %v", name, address, err)
		if coded, ok := errors.AsType[*whittle.Error](err); ok && address != "" && strings.Contains(coded.Message, address) {
			t.Errorf("a stranger reads %q", coded.Message)
		}
	}
}

func TestURLs(t *testing.T) {
	f := New(Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for text, code := range map[string]whittle.Code{
		"https://pictures.example/a.jpg?x=1":       0,
		"HTTP://pictures.example:8080/":            0,
		"http://1.1.1.1/":                          0,
		"http://[2606:4700::1111]:80/":             0,
		"http://10.1.2.3/":                         0,
		"":                                         whittle.Invalid,
		"pictures.example/a.jpg":                   whittle.Invalid,
		"/etc/passwd":                              whittle.Invalid,
		"file:///etc/passwd":                       whittle.Invalid,
		"ftp://pictures.example/":                  whittle.Invalid,
		"data:image/png;base64,AAAA":               whittle.Invalid,
		"http:pictures.example":                    whittle.Invalid,
		"http://":                                  whittle.Invalid,
		"http://:80/":                              whittle.Invalid,
		"http://a:b@pictures.example/":             whittle.Invalid,
		"http://a@pictures.example/":               whittle.Invalid,
		"http://pictures.example:0/":               whittle.Invalid,
		"http://pictures.example:99999/":           whittle.Invalid,
		"http://pictures.example:http/":            whittle.Invalid,
		"http://pictures.example/a b":              whittle.Invalid,
		"http://pictures.example\\@127.0.0.1/":     whittle.Invalid,
		"http://pictures.example/\r\nHost: x":      whittle.Invalid,
		"http://pictures.example/\xff":             whittle.Invalid,
		"http://a/" + strings.Repeat("a", maxURL):  whittle.Invalid,
		"http://127.0.0.1/":                        whittle.PermissionDenied,
		"http://[::1]/":                            whittle.PermissionDenied,
		"http://[::ffff:127.0.0.1]/":               whittle.PermissionDenied,
		"http://[fe80::1%25eth0]/":                 whittle.PermissionDenied,
		"http://169.254.169.254/latest/meta-data/": whittle.PermissionDenied,
	} {
		_, err := f.parse(text)
		if (err != nil) != (code != 0) || err != nil && whittle.CodeOf(err) != code {
			t.Errorf("%.60q: %v, want %v", text, err, code)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.215.14": true, "192.0.1.1": true, "172.32.0.1": true, "100.63.255.255": true,
		"100.128.0.1": true, "198.20.0.1": true, "223.255.255.255": true, "2606:4700::1111": true, "::ffff:1.1.1.1": true,

		"0.0.0.0": false, "0.1.2.3": false, "10.255.255.255": false, "100.64.0.1": false, "100.100.100.200": false,
		"127.0.0.1": false, "127.255.255.254": false, "168.63.129.16": false, "169.254.169.254": false,
		"172.16.0.1": false, "172.31.255.255": false, "192.0.0.192": false, "192.168.1.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false,
		"255.255.255.255": false,

		"::": false, "::1": false, "::7f00:1": false, "::ffff:0:0": false, "::ffff:10.0.0.1": false,
		"::ffff:169.254.169.254": false, "64:ff9b::808:808": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false,
		"100::1": false, "2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false,
		"5f00::1": false, "fc00::1": false, "fd00:ec2::254": false, "fe80::1": false, "fe80::1%eth0": false,
		"fec0::1": false, "ff02::1": false, "2606:4700::1111%eth0": false,
	} {
		fatal.Same(t, open(netip.MustParseAddr(text), nil), want, "%s is open", text)
	}
	if open(netip.Addr{}, prefixes("0.0.0.0/0", "::/0")) {
		t.Error("no address is open")
	}
	loopback := prefixes("127.0.0.1/32")
	for text, want := range map[string]bool{"127.0.0.1": true, "::ffff:127.0.0.1": true, "127.0.0.2": false, "::1": false, "8.8.8.8": true} {
		fatal.Same(t, open(netip.MustParseAddr(text), loopback), want, "with %v allowed, %s is open", loopback, text)
	}
}
