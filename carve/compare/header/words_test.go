package header

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/form"
	"whittle/internal/fatal"
)

func TestWhatAHeaderSays(t *testing.T) {
	const date = "Fri, 20 Nov 2026 12:00:00 GMT"
	for _, tc := range []struct {
		name string
		a, b []string
		same bool
	}{
		{"Location", []string{"/orders/1"}, []string{" /orders/1"}, true},
		{"Location", []string{"/orders/1"}, []string{"/orders/2"}, false},
		{"Location", []string{"/orders/1"}, nil, false},
		{"Location", nil, []string{""}, false},
		{"Location", nil, []string{"missing"}, false},
		{"Location", []string{"http://Shop.example/orders/1?a=b"}, []string{"/orders/1?a=b"}, true},
		{"Location", []string{"http://shop.example/sale/50%off"}, []string{"/sale/50%off"}, true},
		{"Location", []string{"/"}, []string{"https://shop.example"}, true},
		{"Location", []string{"http://shop.example/a"}, []string{"https://shop.example/a"}, false},
		{"Location", []string{"http://shop.example.evil/a"}, []string{"/a"}, false},
		{"Location", []string{"//shop.example/a"}, []string{"/a"}, false},
		{"Link", []string{"http://shop.example/a"}, []string{"/a"}, false},
		{"Cache-Control", []string{"no-store, Private"}, []string{"private", "no-store"}, true},
		{"Cache-Control", []string{"private, max-age=60"}, []string{"private, max-age=600"}, false},
		{"Cache-Control", []string{"private, max-age=60"}, []string{"private, max-age=60", "private, max-age=60"}, true},
		{"Vary", []string{"Origin"}, []string{"Origin", "origin"}, true},
		{"Vary", []string{"Origin, Accept-Encoding"}, []string{"accept-encoding", "origin"}, true}, // which says nothing
		{"Vary", []string{"Accept-Encoding"}, nil, true},
		{"Vary", []string{"Origin, Accept-Encoding"}, []string{"Accept-Encoding"}, false},
		{"Vary", []string{"*"}, []string{"Origin"}, false},
		{"Content-Disposition", []string{`attachment; filename="a.csv"`}, []string{"Attachment; filename=a.csv"}, true},
		{"Content-Disposition", []string{`attachment; filename="a.csv"`}, []string{`inline; filename="a.csv"`}, false},
		{"Content-Disposition", []string{`a; filename*=ISO-8859-1''a%E4.pdf`}, []string{`a; filename*=ISO-8859-1''b.exe`}, false},
		{"Content-Disposition", []string{`attachment; filename="a`}, []string{`attachment; filename="a`}, true},
		{"Set-Cookie", []string{"sid=1; Path=/; HttpOnly"}, []string{"sid=2;httponly;path=/"}, true},
		{"Set-Cookie", []string{"sid=1", "lang=de"}, []string{"lang=en", "sid=7"}, true},
		{"Set-Cookie", []string{"sid=1; HttpOnly"}, []string{"sid=1"}, false},
		{"Set-Cookie", []string{"sid=1; Path=/A"}, []string{"sid=1; Path=/a"}, false},
		{"Set-Cookie", []string{"sid=1; SameSite=Lax"}, []string{"sid=1; samesite=lax; unknown=x"}, true},
		{"Set-Cookie", []string{"sid=1; Domain=.Shop.example"}, []string{"sid=1; domain=shop.example"}, true},
		{"Set-Cookie", []string{"sid=1; Max-Age=60"}, []string{"sid=1; Expires=Tue, 01 Dec 2026 00:00:00 GMT"}, false},
		{"Set-Cookie", []string{"sid=1; Max-Age=86400"}, []string{"sid=1; Expires=Sat, 21 Nov 2026 12:00:01 GMT"}, true},
		{"Set-Cookie", []string{"sid=1; Max-Age=86400"}, []string{"sid=1; Max-Age=3600"}, false},
		{"Set-Cookie", []string{"sid=1; Max-Age=600"}, []string{"sid=1; Max-Age=599"}, true},
		{"Set-Cookie", []string{"sid=1; Max-Age=600"}, []string{"sid=1; Max-Age=590"}, false},
		{"Set-Cookie", []string{"sid=1; Max-Age=60", "a=1; Max-Age=5"}, []string{"a=1; Max-Age=60", "sid=1; Max-Age=5"}, false},
		{"Set-Cookie", []string{"sid=1; Max-Age=1"}, []string{"sid=; Max-Age=0"}, false},
		{"Set-Cookie", []string{"sid=1; Max-Age=99999999999999999999"}, []string{"sid=1; Max-Age=88888888888888888888"}, true},
		{"Set-Cookie", []string{"sid=1; Max-Age=60"}, []string{"sid=1"}, false},
		{"Set-Cookie", []string{"sid=1; Max-Age=+60"}, []string{"sid=1"}, true},
		{"Set-Cookie", []string{"sid=; Max-Age=0"}, []string{"sid=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, true},
		{"Set-Cookie", []string{"sid=; Max-Age=-99999999999999999999"}, []string{"sid=x; Expires=Tue, 12-Oct-1999 00:00:00 GMT"}, true},
		{"Set-Cookie", []string{"sid=; Expires=Thu, 19 Nov 2026 00:00:00 GMT"}, []string{"sid=; Expires=Sat, 21 Nov 2026 00:00:00 GMT"}, false},
		{"Set-Cookie", []string{"sid=; Max-Age=0"}, []string{"sid=; Max-Age=60"}, false},
		{"Set-Cookie", []string{"sid=1", "lang=de"}, []string{"sid=1"}, false},
		{"Set-Cookie", []string{"sid=; Expires=Thu, 01-Jan-70 00:00:01 GMT"}, []string{"sid=x"}, false},
		{"Set-Cookie", []string{"sid=1; Expires=never"}, []string{"sid=2"}, true},
		{"Set-Cookie", []string{"sid=; Path=/; Max-Age=0", "sid=1; Path=/"}, []string{"sid=2; Path=/", "sid=; Path=/; Max-Age=0"}, false}, // it is there, or it is not
		{"Set-Cookie", []string{"sid=; Path=/a; Max-Age=0", "sid=1; Path=/"}, []string{"sid=2; Path=/", "sid=; Path=/a; Max-Age=0"}, true},
		{"Set-Cookie", []string{"sid=1", "sid=2; HttpOnly"}, []string{"sid=1; HttpOnly", "sid=2"}, false},
		{"Allow", []string{"GET, POST"}, []string{"POST,GET"}, true},
		{"Allow", []string{"PATCH"}, []string{"patch"}, false},
		{"Access-Control-Allow-Methods", []string{"PATCH"}, []string{"patch"}, false},
		{"Location", []string{"https://shop.example/asked"}, []string{"/asked"}, false},
		{"Set-Cookie", []string{"nameless"}, []string{"without"}, true},
	} {
		x := &whittle.Exchange{Request: whittle.Request{Host: "shop.example", Target: "/asked"}}
		for values, h := range map[*[]string]*whittle.Header{&tc.a: &x.Monolith.Header, &tc.b: &x.Candidate.Header} {
			if *h = (whittle.Header{"Date": {date}}); *values != nil {
				(*h)[tc.name] = *values
			}
		}
		if a, b := wordAs(tc.name, x, &x.Monolith), wordAs(tc.name, x, &x.Candidate); (a == b) != tc.same {
			t.Errorf("%s: %q says %q, %q says %q", tc.name, tc.a, a, tc.b, b)
		}
	}
}

// TestFormOfAHeader: what a service makes for each response is taken out of a value, and nothing else.
// An id of hexadecimal digits has the form of another one, though it happens to have no letter; what is
// shorter than an id has not.
func TestFormOfAHeader(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"/orders/17", "/orders/20041", true},
		{"/orders/17", "/order/17", false},
		{"/orders/17", "/orders/17/items", false},
		{"/login?state=9f86d081884c", "/login?state=b94f6f125c79", true},
		{"/login?state=9f86d081884c", "/login?token=9f86d081884c", false},
		{"Fri, 20 Nov 2026 12:00:00 GMT", "Sat, 01 Jan 2028 07:30:00 GMT", true},
		{"Fri, 20 Nov 2026 12:00:00 GMT", "2026-11-20T12:00:00Z", false},
		{"12ms", "1.25s", true},
		{"1.5", "2", true},
		{"no-store", "no-cache", false},
		{"max-age=60", "max-age=3600", true},
		{"public, max-age=60", "private, max-age=60", false},
		{"01h455vb-4pex5vsk", "01h4zzzz-9aaaaaaaa", true},
		{"", "0", false},
		{"/posts/7-tea", "/posts/100017-tea", true},
		{"1,234 hits at 10:15", "12 hits at 9", true},
		{"after=17", "after=100017", true},
		{"9dfe016455e122ed", "1596302066257423", true},
		{"/items?cursor=9dfe0164&page=2", "/items?cursor=15963020&page=2", true},
		{"deadbeef", "12345678", true},
		{"/a?challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "/a?challenge=kq3Zb-xyz-W8rTnE4MvJdL0sYhQ2uGcPfA7iOoBe5Kt", true},
		{"/a?challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "/a?challenge=Mux_oKGOt-W8rTnE4MvJdL0sYhQ2uGcPfA7iOoBe5Kt", true},
		{"deadbee", "1234567", false},
		{"public", "private", false},
	} {
		if a, b := form.Shape(tc.a), form.Shape(tc.b); (a == b) != tc.same {
			t.Errorf("%q has the form %q, %q has %q", tc.a, a, tc.b, b)
		}
	}
	tail := strings.Repeat(" and so on", 500)
	fatal.Same(t, form.Shape("in 12 ms"+tail), form.Shape("in 3 ms"+tail), "a long text has another form with another number")
	if long := strings.Repeat("a1", (4 << 10)); len(form.Shape(long)) > (4 << 10) {
		t.Errorf("the form of %d bytes has %d", len(long), len(form.Shape(long)))
	}
}
