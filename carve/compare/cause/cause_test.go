package cause

import (
	"fmt"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/digest"
	"whittle/internal/fatal"
)

// TestWhoseABodyIs: a body belongs to another request only where the monolith gave
// it to that one alone.
func TestWhoseABodyIs(t *testing.T) {
	var o Owners
	o.Remember(comparetest.Gave(0, 1, "/orders/1", `{"id":1,"name":"Ann Arbor"}`))
	o.Remember(comparetest.Gave(1, 2, "/me", `{"user":2,"mail":"bob@example.org"}`))
	o.Remember(comparetest.Gave(2, 1, "/orders/3", `{"error":"no such order"}`))
	o.Remember(comparetest.Gave(3, 1, "/orders/4", `{"error":"no such order"}`))
	o.Remember(comparetest.Gave(4, 1, "/news", `["rain","wind"]`))
	o.Remember(comparetest.Gave(5, 2, "/news", `["rain","wind"]`))
	for _, c := range []struct {
		name  string
		asked *whittle.Exchange
		body  string
		want  string
	}{
		{"another request's", comparetest.Gave(9, 1, "/orders/2", ""), `{"id":1,"name":"Ann Arbor"}`, "to another request before"},
		{"another user's", comparetest.Gave(9, 1, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, "to another user before"},
		{"its own, earlier", comparetest.Gave(9, 2, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, "to the same request some time before"},
		{"given to several requests", comparetest.Gave(9, 1, "/orders/5", ""), `{"error":"no such order"}`, ""},
		{"the same for every user", comparetest.Gave(9, 3, "/news", ""), `["rain","wind"]`, "to the same request some time before"},
		{"never given", comparetest.Gave(9, 1, "/orders/2", ""), `{"id":2,"name":"Ann Arbor"}`, ""},
	} {
		if got := whose(&o, c.asked, c.body); !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBodiesAreToldApartByValue: how a JSON body is written does not matter, and what
// it says does.
func TestBodiesAreDistinguishedByValue(t *testing.T) {
	var o Owners
	o.Remember(comparetest.Gave(0, 1, "/orders/1", `{"id":48211,"tags":["a","b"],"name":"J\u00f6rg","sum":12.50,"x":null}`))
	for body, want := range map[string]string{
		`{"x":null, "sum":12.5, "name":"Jörg", "tags":["a","b"], "id":48211}`: "to another request before",
		`{"id":48211,"tags":["b","a"],"name":"Jörg","sum":12.50,"x":null}`:    "",
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.51,"x":null}`:    "",
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":-12.50,"x":null}`:   "",
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":"12.50","x":null}`:  "",
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.50,"y":null}`:    "",
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.50}`:             "",
		`{"id":48211,"tags":[["a","b"]],"name":"Jörg","sum":12.50,"x":null}`:  "",
	} {
		if got := whose(&o, comparetest.Gave(1, 1, "/orders/2", ""), body); !strings.HasSuffix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestOthersAreBounded: however much the monolith says, the last is known and the
// tables stay as large as they are.
func TestOthersAreBounded(t *testing.T) {
	var o Owners
	const n = 3 * digest.Remembered
	for i := range n {
		o.Remember(comparetest.Gave(float64(i)/100, 1, fmt.Sprintf("/orders/%d", i), fmt.Sprintf(`{"id":%d,"ref":"ref-%d"}`, i+10_000, i)))
	}
	if len(o.young)+len(o.old) > 2*digest.Remembered {
		t.Errorf("%d and %d bodies", len(o.young), len(o.old))
	}
	asked := comparetest.Gave(n/100, 1, "/", "")
	last := fmt.Sprintf(`{"id":%d,"ref":"ref-%d"}`, n-1+10_000, n-1)
	if got := whose(&o, asked, last); !strings.HasSuffix(got, "to another request before") {
		t.Errorf("the last body: %q", got)
	}
	fatal.Same(t, whose(&o, asked, `{"id":10000,"ref":"ref-0"}`), "", "the first body")
}

// whose is what is said of a candidate's body; empty: nothing.
func whose(o *Owners, x *whittle.Exchange, body string) string {
	x.Candidate.Body = []byte(body)
	c, known := o.Whose(x)
	if !known {
		return ""
	}
	return strings.TrimSuffix(kinds[c.kind].words, ": it is stale")
}
