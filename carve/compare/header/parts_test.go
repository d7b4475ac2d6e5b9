package header

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/form"
)

// TestFormOfAHeader: what a service makes for each response is taken out of a value,
// and nothing else.
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
	} {
		if a, b := form.Shape(tc.a), form.Shape(tc.b); (a == b) != tc.same {
			t.Errorf("%q has the form %q, %q has %q", tc.a, a, tc.b, b)
		}
	}
	if long := strings.Repeat("a1", (4 << 10)); len(form.Shape(long)) > (4 << 10) {
		t.Errorf("the form of %d bytes has %d", len(long), len(form.Shape(long)))
	}
}

// TestVary: Accept-Encoding says nothing in it.
func TestVary(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b whittle.Header
		same bool
	}{
		{whittle.Header{"Vary": {"Origin, Accept-Encoding"}}, whittle.Header{"Vary": {"accept-encoding", "origin"}}, true},
		{whittle.Header{"Vary": {"Accept-Encoding"}}, whittle.Header{}, true},
		{whittle.Header{"Vary": {"Origin, Accept-Encoding"}}, whittle.Header{"Vary": {"Accept-Encoding"}}, false},
		{whittle.Header{"Vary": {"*"}}, whittle.Header{"Vary": {"Origin"}}, false},
	} {
		x := &whittle.Exchange{Monolith: whittle.Response{Header: tc.a}, Candidate: whittle.Response{Header: tc.b}}
		if a, b := wordAs("Vary", x, &x.Monolith), wordAs("Vary", x, &x.Candidate); (a == b) != tc.same {
			t.Errorf("%v says %q, %v says %q", tc.a, a, tc.b, b)
		}
	}
}

// TestFormsOfIDs: an id of hexadecimal digits has the form of another one, though it happens to
// have no letter; what is shorter than an id has not.
func TestFormsOfIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"9dfe016455e122ed", "1596302066257423", true},
		{"/items?cursor=9dfe0164&page=2", "/items?cursor=15963020&page=2", true},
		{"deadbeef", "12345678", true},
		{"deadbee", "1234567", false},
		{"public", "private", false},
	} {
		if got := form.Shape(c.a) == form.Shape(c.b); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
