package compare

import (
	"fmt"
	"testing"
	"time"

	"whittle"
)

var othersStart = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// gave is an exchange in which the monolith gave a body to a user's request.
func gave(second float64, user uint64, target, body string) *whittle.Exchange {
	return &whittle.Exchange{
		At: othersStart.Add(time.Duration(second * float64(time.Second))), User: user,
		Request:  whittle.Request{Method: "GET", Target: target},
		Monolith: whittle.Response{Status: 200, Body: []byte(body)},
	}
}

// TestWhoseABodyIs: a body belongs to another request only where the monolith gave
// it to that one alone, and not long ago.
func TestWhoseABodyIs(t *testing.T) {
	var o others
	o.remember(gave(0, 1, "/orders/1", `{"id":1,"name":"Ann Arbor"}`))
	o.remember(gave(1, 2, "/me", `{"user":2,"mail":"bob@example.org"}`))
	o.remember(gave(2, 1, "/orders/3", `{"error":"no such order"}`))
	o.remember(gave(3, 1, "/orders/4", `{"error":"no such order"}`))
	o.remember(gave(4, 1, "/news", `["rain","wind"]`))
	o.remember(gave(5, 2, "/news", `["rain","wind"]`))
	o.remember(gave(6, 1, "/empty", `[]`))
	for _, c := range []struct {
		name   string
		asked  *whittle.Exchange
		body   string
		owner  owner
		before time.Duration
	}{
		{"another request's", gave(9, 1, "/orders/2", ""), `{"id":1,"name":"Ann Arbor"}`, anotherRequest, 9 * time.Second},
		{"another user's", gave(9, 1, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, anotherCaller, 8 * time.Second},
		{"its own, earlier", gave(9, 2, "/me", ""), `{"user":2,"mail":"bob@example.org"}`, sameRequest, 8 * time.Second},
		{"given to several requests", gave(9, 1, "/orders/5", ""), `{"error":"no such order"}`, noOwner, 6 * time.Second},
		{"the same for every user", gave(9, 3, "/news", ""), `["rain","wind"]`, sameRequest, 4 * time.Second},
		{"never given", gave(9, 1, "/orders/2", ""), `{"id":2,"name":"Ann Arbor"}`, noOwner, 0},
		{"too short to tell", gave(9, 1, "/orders/2", ""), `[]`, noOwner, 0},
		{"long ago", gave(600, 1, "/orders/2", ""), `{"id":1,"name":"Ann Arbor"}`, noOwner, 600 * time.Second},
	} {
		if is, before := o.find(c.asked, []byte(c.body)); is != c.owner || before != c.before {
			t.Errorf("%s: %d after %v, want %d after %v", c.name, is, before, c.owner, c.before)
		}
	}
}

// TestWhoseAValueIs: single values are told apart likewise, where they are long
// enough to be somebody's.
func TestWhoseAValueIs(t *testing.T) {
	var o others
	o.remember(gave(0, 1, "/orders/1", `{"id":48211,"ref":"R-99120","state":"open","n":7,"sum":5000}`))
	asked := askerOf(gave(1, 1, "/orders/2", ""))
	for value, want := range map[string]owner{
		`48211`: anotherRequest, `"R-99120"`: anotherRequest, `"open"`: noOwner, `7`: noOwner, `5000`: noOwner, `null`: noOwner, ``: noOwner,
	} {
		if is, _ := o.findValue(asked, othersStart.Add(time.Second), []byte(value)); is != want {
			t.Errorf("%s: %d, want %d", value, is, want)
		}
	}
}

// TestBodiesAreToldApartByValue: how a JSON body is written does not matter, and what
// it says does.
func TestBodiesAreToldApartByValue(t *testing.T) {
	var o others
	o.remember(gave(0, 1, "/orders/1", `{"id":48211,"tags":["a","b"],"name":"J\u00f6rg","sum":12.50,"x":null}`))
	for body, want := range map[string]owner{
		`{"x":null, "sum":12.5, "name":"Jörg", "tags":["a","b"], "id":48211}`: anotherRequest,
		`{"id":48211,"tags":["b","a"],"name":"Jörg","sum":12.50,"x":null}`:    noOwner,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.51,"x":null}`:    noOwner,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":-12.50,"x":null}`:   noOwner,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":"12.50","x":null}`:  noOwner,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.50,"y":null}`:    noOwner,
		`{"id":48211,"tags":["a","b"],"name":"Jörg","sum":12.50}`:             noOwner,
		`{"id":48211,"tags":[["a","b"]],"name":"Jörg","sum":12.50,"x":null}`:  noOwner,
	} {
		if is, _ := o.find(gave(1, 1, "/orders/2", ""), []byte(body)); is != want {
			t.Errorf("%s: %d, want %d", body, is, want)
		}
	}
}

// TestAwaited: a value that comes before the response it belongs to is told whose
// it is once that comes, and of more than wantedMost the last are waited for.
func TestAwaited(t *testing.T) {
	var o others
	x := gave(0, 1, "/orders/1", "")
	old, now := &wish{by: askerOf(x), at: x.At}, &wish{by: askerOf(x), at: x.At}
	o.await(old, o.bodyKey([]byte(`{"id":2,"name":"Bo Peep"}`)))
	for i := range wantedMost - 1 {
		o.await(&wish{by: askerOf(x), at: x.At}, uint64(i))
	}
	o.await(now, o.bodyKey([]byte(`{ "name":"Bo Peep", "id":3.0 }`)))
	o.remember(gave(1, 1, "/orders/2", `{"id":2,"name":"Bo Peep"}`))
	o.remember(gave(1, 1, "/orders/3", `{"id":3,"name":"Bo Peep"}`))
	if old.is != noOwner || now.is != anotherRequest {
		t.Errorf("the one that is too old: %d, the other %d", old.is, now.is)
	}
	if len(o.waiting) != wantedMost || len(o.wanted) > wantedMost {
		t.Errorf("%d and %d are waited for", len(o.waiting), len(o.wanted))
	}
}

// TestOthersAreBounded: however much the monolith says, the last is known and the
// tables stay as large as they are.
func TestOthersAreBounded(t *testing.T) {
	var o others
	const n = 3 * bodiesMost
	for i := range n {
		o.remember(gave(float64(i)/100, 1, fmt.Sprintf("/orders/%d", i), fmt.Sprintf(`{"id":%d,"ref":"ref-%d"}`, i+10_000, i)))
	}
	if len(o.bodies.list) != bodiesMost || len(o.bodies.index) != bodiesMost || len(o.values.list) > valuesMost || len(o.values.index) > valuesMost {
		t.Errorf("%d bodies (%d), %d values (%d)", len(o.bodies.list), len(o.bodies.index), len(o.values.list), len(o.values.index))
	}
	asked := gave(n/100, 1, "/", "")
	last := fmt.Sprintf(`{"id":%d,"ref":"ref-%d"}`, n-1+10_000, n-1)
	if is, _ := o.find(asked, []byte(last)); is != anotherRequest {
		t.Errorf("the last body is %d", is)
	}
	if is, _ := o.find(asked, []byte(`{"id":10000,"ref":"ref-0"}`)); is != noOwner {
		t.Errorf("the first body is %d", is)
	}
}

// BenchmarkOthers is the price of a body whose hash is asked, and of one that is
// remembered.
func BenchmarkOthers(b *testing.B) {
	x := gave(0, 1, "/orders/1", `{"id":48211,"ref":"R-99120","state":"open","lines":[{"sku":"A-1","n":2},{"sku":"A-2","n":1}]}`)
	b.Run("find", func(b *testing.B) {
		var o others
		o.remember(x)
		b.ReportAllocs()
		for range b.N {
			o.find(x, x.Monolith.Body)
		}
	})
	b.Run("remember", func(b *testing.B) {
		var o others
		b.ReportAllocs()
		for range b.N {
			o.remember(x)
		}
	})
}
