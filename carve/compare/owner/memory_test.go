package owner

import (
	"fmt"
	"testing"
	"time"

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
	for _, c := range []struct {
		name   string
		asked  *whittle.Exchange
		body   string
		owner  Owner
		before time.Duration
	}{
		{"another request's", comparetest.Gave(9, 1, "/orders/2", ""), `{"id":1,"name":"Ann Arbor"}`, AnotherRequest, 9 * time.Second},
		{"another user's", comparetest.Gave(9, 1, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, AnotherCaller, 8 * time.Second},
		{"its own, earlier", comparetest.Gave(9, 2, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, SameRequest, 8 * time.Second},
		{"given to several requests", comparetest.Gave(9, 1, "/orders/5", ""), `{"error":"no such order"}`, Nobody, 6 * time.Second},
		{"the same for every user", comparetest.Gave(9, 3, "/news", ""), `["rain","wind"]`, SameRequest, 4 * time.Second},
		{"never given", comparetest.Gave(9, 1, "/orders/2", ""), `{"id":2,"name":"Ann Arbor"}`, Nobody, 0},
		{"too short to tell", comparetest.Gave(9, 1, "/orders/2", ""), `[]`, Nobody, 0},
		{"long ago", comparetest.Gave(600, 1, "/orders/2", ""), `{"id":1,"name":"Ann Arbor"}`, Nobody, 600 * time.Second},
	} {
		if is, before := o.find(c.asked, []byte(c.body)); is != c.owner || before != c.before {
			t.Errorf("%s: %d after %v, want %d after %v", c.name, is, before, c.owner, c.before)
		}
	}
}

// TestWhoseAValueIs: single values are distinguished likewise, where they are long
// enough to be somebody's.
func TestWhoseAValueIs(t *testing.T) {
	var o Memory
	o.Remember(comparetest.Gave(0, 1, "/orders/1", `{"id":48211,"ref":"R-99120","state":"open","n":7,"sum":5000}`))
	asked := askerOf(comparetest.Gave(1, 1, "/orders/2", ""))
	for value, want := range map[string]Owner{
		`48211`: AnotherRequest, `"R-99120"`: AnotherRequest, `"open"`: Nobody, `7`: Nobody, `5000`: Nobody, `null`: Nobody, ``: Nobody,
	} {
		if is, _ := o.findValue(asked, comparetest.Start.Add(time.Second), []byte(value)); is != want {
			t.Errorf("%s: %d, want %d", value, is, want)
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
		if is, _ := o.find(comparetest.Gave(1, 1, "/orders/2", ""), []byte(body)); is != want {
			t.Errorf("%s: %d, want %d", body, is, want)
		}
	}
}

// TestAwaited: a value may come before the response that it belongs to. Once that
// comes, the owner is known. Of more than wantedMost values the last are waited for.
func TestAwaited(t *testing.T) {
	var o Memory
	x := comparetest.Gave(0, 1, "/orders/1", "")
	old, now := &Wish{by: askerOf(x), at: x.At}, &Wish{by: askerOf(x), at: x.At}
	o.await(old, o.bodyKey([]byte(`{"id":2,"name":"Bo Peep"}`)))
	for i := range wantedMost - 1 {
		o.await(&Wish{by: askerOf(x), at: x.At}, uint64(i))
	}
	o.await(now, o.bodyKey([]byte(`{ "name":"Bo Peep", "id":3.0 }`)))
	o.Remember(comparetest.Gave(1, 1, "/orders/2", `{"id":2,"name":"Bo Peep"}`))
	o.Remember(comparetest.Gave(1, 1, "/orders/3", `{"id":3,"name":"Bo Peep"}`))
	if old.Is != Nobody || now.Is != AnotherRequest {
		t.Errorf("the one that is too old: %d, the other %d", old.Is, now.Is)
	}
	if len(o.waiting) != wantedMost || len(o.wanted) > wantedMost {
		t.Errorf("%d and %d are waited for", len(o.waiting), len(o.wanted))
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
	if len(o.bodies.list) != bodiesMost || len(o.bodies.index) != bodiesMost || len(o.values.list) > valuesMost || len(o.values.index) > valuesMost {
		t.Errorf("%d bodies (%d), %d values (%d)", len(o.bodies.list), len(o.bodies.index), len(o.values.list), len(o.values.index))
	}
	asked := comparetest.Gave(n/100, 1, "/", "")
	last := fmt.Sprintf(`{"id":%d,"ref":"ref-%d"}`, n-1+10_000, n-1)
	if is, _ := o.find(asked, []byte(last)); is != AnotherRequest {
		t.Errorf("the last body is %d", is)
	}
	if is, _ := o.find(asked, []byte(`{"id":10000,"ref":"ref-0"}`)); is != Nobody {
		t.Errorf("the first body is %d", is)
	}
}

// BenchmarkOthers is the price of a body whose hash is asked, and of one that is
// remembered.
func BenchmarkOthers(b *testing.B) {
	x := comparetest.Gave(0, 1, "/orders/1", `{"id":48211,"ref":"R-99120","state":"open","lines":[{"sku":"A-1","n":2},{"sku":"A-2","n":1}]}`)
	b.Run("find", func(b *testing.B) {
		var o Memory
		o.Remember(x)
		b.ReportAllocs()
		for range b.N {
			o.find(x, x.Monolith.Body)
		}
	})
	b.Run("remember", func(b *testing.B) {
		var o Memory
		b.ReportAllocs()
		for range b.N {
			o.Remember(x)
		}
	})
}
