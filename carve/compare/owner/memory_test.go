package owner

import (
	"fmt"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// TestWhoseABodyIs: a body belongs to another request only where the monolith gave
// it to that one alone, and not long ago.
func TestWhoseABodyIs(t *testing.T) {
	var o Memory
	o.Remember(comparetest.Gave(0, 1, "/orders/1", `{"id":1,"name":"Ann Arbor"}`))
	o.Remember(comparetest.Gave(1, 2, "/me", `{"user":2,"mail":"bob@example.org"}`))
	o.Remember(comparetest.Gave(2, 1, "/orders/3", `{"error":"no such order"}`))
	o.Remember(comparetest.Gave(3, 1, "/orders/4", `{"error":"no such order"}`))
	o.Remember(comparetest.Gave(4, 1, "/news", `["rain","wind"]`))
	o.Remember(comparetest.Gave(5, 2, "/news", `["rain","wind"]`))
	o.Remember(comparetest.Gave(6, 1, "/empty", `[]`))
	for i := range 10 { // of enough bodies, few are common to users
		o.Remember(comparetest.Gave(7, 1, fmt.Sprintf("/things/%d", i), fmt.Sprintf(`{"thing":%d}`, i)))
	}
	for _, c := range []struct {
		name  string
		asked *whittle.Exchange
		body  string
		owner Owner
	}{
		{"another request's", comparetest.Gave(9, 1, "/orders/2", ""), `{"id":1,"name":"Ann Arbor"}`, AnotherRequest},
		{"another user's", comparetest.Gave(9, 1, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, AnotherCaller},
		{"its own, earlier", comparetest.Gave(9, 2, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, SameRequest},
		{"given to several requests", comparetest.Gave(9, 1, "/orders/5", ""), `{"error":"no such order"}`, Nobody},
		{"the same for every user", comparetest.Gave(9, 3, "/news", ""), `["rain","wind"]`, SameRequest},
		{"never given", comparetest.Gave(9, 1, "/orders/2", ""), `{"id":2,"name":"Ann Arbor"}`, Nobody},
		{"too short to tell", comparetest.Gave(9, 1, "/orders/2", ""), `[]`, Nobody},
		{"long ago", comparetest.Gave(600, 1, "/orders/2", ""), `{"id":1,"name":"Ann Arbor"}`, Nobody},
	} {
		if is := o.find(c.asked, []byte(c.body)); is != c.owner {
			t.Errorf("%s: %d, want %d", c.name, is, c.owner)
		}
	}
}

// TestBodiesAreToldApartByValue: how a JSON body is written does not matter, and what
// it says does.
func TestBodiesAreDistinguishedByValue(t *testing.T) {
	var o Memory
	o.Remember(comparetest.Gave(0, 1, "/orders/1", `{"id":48211,"tags":["a","b"],"name":"J\u00f6rg","sum":12.50,"x":null}`))
	for body, want := range map[string]Owner{
		`{"x":null, "sum":12.5, "name":"Jörg", "tags":["a","b"], "id":48211}`: AnotherRequest,
		`{"id":48211,"tags":["b","a"],"name":"Jörg","sum":12.50,"x":null}`:    Nobody,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.51,"x":null}`:    Nobody,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":-12.50,"x":null}`:   Nobody,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":"12.50","x":null}`:  Nobody,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.50,"y":null}`:    Nobody,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.50}`:             Nobody,
		`{"id":48211,"tags":[["a","b"]],"name":"Jörg","sum":12.50,"x":null}`:  Nobody,
	} {
		if is := o.find(comparetest.Gave(1, 1, "/orders/2", ""), []byte(body)); is != want {
			t.Errorf("%s: %d, want %d", body, is, want)
		}
	}
}

// TestOthersAreBounded: however much the monolith says, the last is known and the
// tables stay as large as they are.
func TestOthersAreBounded(t *testing.T) {
	var o Memory
	const n = 3 * bodiesMost
	for i := range n {
		o.Remember(comparetest.Gave(float64(i)/100, 1, fmt.Sprintf("/orders/%d", i), fmt.Sprintf(`{"id":%d,"ref":"ref-%d"}`, i+10_000, i)))
	}
	if len(o.list) != bodiesMost || len(o.index) != bodiesMost {
		t.Errorf("%d bodies (%d)", len(o.list), len(o.index))
	}
	asked := comparetest.Gave(n/100, 1, "/", "")
	last := fmt.Sprintf(`{"id":%d,"ref":"ref-%d"}`, n-1+10_000, n-1)
	if is := o.find(asked, []byte(last)); is != AnotherRequest {
		t.Errorf("the last body is %d", is)
	}
	if is := o.find(asked, []byte(`{"id":10000,"ref":"ref-0"}`)); is != Nobody {
		t.Errorf("the first body is %d", is)
	}
}
