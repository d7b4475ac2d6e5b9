package real

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/bench/proof/family"
	"whittle/bench/proof/fault"
)

// What the process of both sides counts is what its users got: a wrong response
// that the candidate gave before the monolith was asked, and no mirrored one.
func TestServedAndWrongAreCounted(t *testing.T) {
	f, m, err := Find("terms", "first-100")
	if err != nil {
		t.Fatal(err)
	}
	s := &services{
		family: f, table: family.NewOrders(), mutant: fault.New(m, f, rand.New(rand.NewPCG(1, 1))),
		ids: rand.New(rand.NewPCG(1, 2)), seen: map[string]bool{},
	}
	ask := func(side http.HandlerFunc, id string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/terms/3?lang=de", http.NoBody)
		r.Header.Set(requestHeader, id)
		r.Header.Set(userHeader, "7")
		w := httptest.NewRecorder()
		side(w, r)
		if w.Code != http.StatusOK || w.Header().Get("Content-Language") != "de" {
			t.Fatalf("%d %v", w.Code, w.Header())
		}
		return w.Body.String()
	}
	right := ask(s.monolith, "1")
	if got := ask(s.candidate, "1"); got != right {
		t.Errorf("asked second it says %q, the monolith %q", got, right)
	}
	if got := ask(s.candidate, "2"); got == right {
		t.Error("asked first it is right")
	}
	w := httptest.NewRecorder()
	s.count(w, nil)
	var c Counts
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || c != (Counts{Served: 1, Wrong: 1}) {
		t.Errorf("%v, %+v", err, c)
	}
}

// At least 24 mutated pairs go through the gateway, each of a family that the
// mutation befalls.
func TestPairsArePairs(t *testing.T) {
	mutated, families := 0, map[string]bool{}
	for _, p := range Pairs() {
		f, m, err := Find(p[0], p[1])
		if err != nil {
			t.Fatal(err)
		}
		families[f.Name] = true
		if m != nil {
			mutated++
			if !m.Fits(f) {
				t.Errorf("%s cannot befall %s", m.Name, f.Name)
			}
		}
	}
	if mutated < 24 || len(families) != len(family.All()) {
		t.Errorf("%d mutated pairs of %d families", mutated, len(families))
	}
	if _, _, err := Find("terms", "nothing"); err == nil || !strings.Contains(err.Error(), "terms, nothing") {
		t.Error(err)
	}
}

// What the demo serves in addition to the campaign's mutations can be found by name, is
// none of them, and is wrong about as often as it says.
func TestDemonstratedMutationsCanBeServed(t *testing.T) {
	for _, want := range fault.Demonstrated() {
		f, m, err := Find("export", want.Name)
		if err != nil || m.Does != want.Does || !m.Fits(f) {
			t.Fatal(err, m)
		}
		if slices.ContainsFunc(fault.All(), func(o *fault.Mutation) bool { return o.Name == want.Name }) {
			t.Errorf("%s is one of the campaign's", want.Name)
		}
		const calls = 20_000
		r, wrong := rand.New(rand.NewPCG(1, 1)), 0
		c := fault.New(m, f, rand.New(rand.NewPCG(1, 2)))
		for range calls {
			user := r.Uint64N(2000)
			q := f.Request(r, user)
			if c.Serve(&fault.Call{Family: f, World: &family.World{Now: time.Unix(0, 0), Rand: r}, Request: &q, User: user}).Wrong {
				wrong++
			}
		}
		// 100 are expected; five standard deviations either way.
		if wrong < calls/200-50 || wrong > calls/200+50 {
			t.Errorf("%s is wrong in %d of %d", want.Name, wrong, calls)
		}
	}
}
