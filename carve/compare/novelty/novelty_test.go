package novelty

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/internal/fatal"
)

func TestShapes(t *testing.T) {
	shape := func(method, target, body string) uint64 {
		return ShapeOf(&whittle.Request{Method: method, Target: target, Body: []byte(body)})
	}
	for _, c := range []struct {
		name string
		a, b uint64
		same bool
	}{
		{"other digits", shape("POST", "/a/12", `{"times":1000}`), shape("POST", "/a/34", `{"times": 2000}`), true},
		{"more digits", shape("POST", "/a", `{"times":1000}`), shape("POST", "/a", `{"times":10000}`), false},
		{"other name", shape("POST", "/a", `{"times":1}`), shape("POST", "/a", `{"tries":1}`), false},
		{"other text", shape("POST", "/a", `{"name":"anna"}`), shape("POST", "/a", `{"name":"otto"}`), true},
		{"white space before", shape("POST", "/a", "\n"+`{"name":"anna"}`), shape("POST", "/a", `{"name":"otto"}`), true},
		{"a text of JSON alone", shape("POST", "/a", `"anna"`), shape("POST", "/a", `"otto"`), true},
		{"other query value", shape("GET", "/a?x=anna", ""), shape("GET", "/a?x=otto", ""), true},
		{"other query name", shape("GET", "/a?x=1", ""), shape("GET", "/a?y=1", ""), false},
		{"other method", shape("GET", "/a", ""), shape("POST", "/a", ""), false},
		{"text that looks like a name", shape("POST", "/a", `{"a":"b"}`), shape("POST", "/a", `{"b":"a"}`), false},
		{"unended text", shape("POST", "/a", `{"a\`), shape("POST", "/a", `{"b\`), true},
	} {
		fatal.Same(t, c.a == c.b, c.same, "%s", c.name)
	}
}

// Novelty is the share of what comes that is of a shape never compared. Where far more shapes come
// than are remembered, a forgotten one is new once more.
func TestNoveltyIsTheShareOfTheUnseen(t *testing.T) {
	for _, kinds := range []int{10, 5_000, 200_000} {
		const n = 20_000
		r := rand.New(rand.NewPCG(1, uint64(kinds)))
		v, seen := NewShapes(), map[int]bool{}
		for range n {
			k := r.IntN(kinds)
			seen[k] = true
			shape := digest.Mix(uint64(k) + 1)
			v.See(shape)
			v.Compared(shape)
		}
		truth := 1 - float64(min(len(seen), digest.Remembered*3))/float64(kinds)
		if got := v.Share(); math.Abs(got-truth) > 0.03 || len(v.Young)+len(v.Old) > 4*digest.Remembered {
			t.Errorf("%d shapes: %.3f, truth %.3f, remembered %d and %d", kinds, got, truth, len(v.Young), len(v.Old))
		}
		w := NewShapes()
		b, err := json.Marshal(v)
		if err != nil || json.Unmarshal(b, w) != nil || !reflect.DeepEqual(w.kept, v.kept) {
			t.Errorf("%d shapes: %v after a restart, %v", kinds, w.Share(), err)
		}
	}
	fatal.Same(t, NewShapes().Share(), 1, "before any request the share")
}

func FuzzShapeOf(f *testing.F) {
	f.Add("POST", "/a?b=c", []byte(`{"a":"\"","b":[1,2,{"c":null}]}`))
	f.Add("", "%", []byte(`"`))
	f.Fuzz(func(t *testing.T, method, target string, body []byte) {
		q := whittle.Request{Method: method, Target: target, Body: body}
		first, again := ShapeOf(&q), ShapeOf(&q)
		fatal.Same(t, first, again, "the shapes of one request")
	})
}
