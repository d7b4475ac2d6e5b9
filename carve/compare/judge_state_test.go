package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// A judge that is kept and restored in the middle goes on as if nothing had
// happened, and its state stays small.
func TestAJudgeGoesOnAfterARestart(t *testing.T) {
	for _, f := range []comparetest.Flaws{{}, {Mean: true, Remainder: true, Wrap: true, Seed: true}} {
		whole, first := judgeOf(t, countRoute()), judgeOf(t, countRoute())
		drive(whole, 1, 500, f, nil)
		drive(whole, 2, 500, f, nil)
		drive(first, 1, 500, f, nil)
		if n := len(stateOf(t, first)); n > 128<<10 {
			t.Fatalf("kept %d bytes", n)
		}
		second := judgeOf(t, countRoute())
		restore(t, first, second)
		drive(second, 2, 500, f, nil)
		if a, b := whole.Verdict(), second.Verdict(); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v: without a restart\n%+v\nwith one\n%+v", f, a, b)
		}
	}
}

// The state is bounded whatever comes: huge bodies, ever new shapes and sizes.
func TestTheStateIsBounded(t *testing.T) {
	t.Parallel()
	c := countRoute()
	for i := range whittle.MaxHeaders {
		c.Headers = append(c.Headers, fmt.Sprintf("X-%d", i))
	}
	j := judgeOf(t, c)
	long := strings.Repeat("\x00é", 1_500)
	drive(j, 1, 6_000, comparetest.Flaws{Mean: true, Remainder: true, Wrap: true}, func(i int, x *whittle.Exchange) {
		x.Request.Target = fmt.Sprintf("/Count/%s?%s%d=%s", long, strings.Repeat("q", i%97), i, long)
		x.Request.Body = fmt.Appendf(nil, `{"times":%d,"%s%d":"%s"}`, 100+i*2_003, strings.Repeat("k", i%89), i, long)
		x.Monolith.Body = append(x.Monolith.Body, long...)
		x.Candidate.Body = append(x.Candidate.Body, long...)
		x.Candidate.Header = maps.Clone(x.Candidate.Header)
		if i < 1_500 { // by when headers have taken all the room they get
			for k, name := range c.Headers {
				x.Candidate.Header[name] = []string{fmt.Sprintf("%d%s", i*k, long)}
			}
		}
		switch i % 11 {
		case 1:
			x.Candidate.Status = 400 + i%97
		case 2:
			x.Candidate.Header = whittle.Header{"Content-Type": {fmt.Sprintf("x/%s%d", long, i)}}
		case 3:
			x.Candidate.Body = []byte(long)
		}
	})
	if n := len(stateOf(t, j)); n >= 1<<20 {
		t.Errorf("the state has %d bytes", n)
	}
	v := j.Verdict()
	for _, f := range v.Findings {
		for _, s := range f.Samples {
			if len(s.Request) > 310 || len(s.Monolith) > 310 || len(s.Candidate) > 310 {
				t.Errorf("a sample is too long: %d %d %d", len(s.Request), len(s.Monolith), len(s.Candidate))
			}
		}
	}
	if b, err := json.Marshal(v); err != nil || len(b) > 256<<10 {
		t.Errorf("the verdict has %d bytes of JSON, %v", len(b), err)
	}
}

func FuzzUnmarshalJudge(f *testing.F) {
	for _, c := range []comparetest.Flaws{{}, {Mean: true, Remainder: true, Wrap: true, Seed: true}} {
		j := judgeOf(f, countRoute())
		drive(j, 1, 200, c, nil)
		kept := stateOf(f, j)
		f.Add(kept)
		f.Add(kept[:len(kept)/2])
	}
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		j := judgeOf(t, countRoute())
		if j.UnmarshalBinary(b) != nil {
			return
		}
		drive(j, 7, 50, comparetest.Flaws{Remainder: true}, nil)
		v := j.Verdict()
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("a restored judge's verdict is no JSON: %v", err)
		}
	})
}

// Whatever numbers a side writes, the state can be kept and the verdict shown.
func TestAbsurdNumbers(t *testing.T) {
	numbers := []string{
		"0", "1", "-1", "1e308", "-1.7976931348623157e308", "5e-324", "1e60", "1e-60", "9223372036854775807", "0.1", "1e154",
	}
	r := rand.New(rand.NewPCG(1, 51))
	pick := func() string { return numbers[r.IntN(len(numbers))] }
	for _, narrow := range []bool{false, true} {
		j := judgeOf(t, countRoute())
		for i := range 3_000 {
			x := countExchange(i, 1, 0, 0)
			x.Request.Body = []byte(`{"times":` + pick() + `}`)
			x.Monolith.Body, x.Candidate.Body = []byte(pick()), []byte(pick())
			if narrow {
				x.Monolith.Body = []byte("5")
			}
			j.Observe(x)
			if i%100 != 0 {
				continue
			}
			if _, err := json.Marshal(j.Verdict()); err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
			restore(t, j, judgeOf(t, countRoute()))
		}
	}
}

func FuzzObserve(f *testing.F) {
	f.Add([]byte(`{"times":1000}`), []byte("Counted to 5 \n"), []byte("Counted to 1e300 \n"), 200, 200)
	f.Add([]byte(`{"times":-5e-324}`), []byte("{}"), []byte("-0"), 200, 500)
	f.Fuzz(func(t *testing.T, request, monolith, candidate []byte, a, b int) {
		j := judgeOf(t, countRoute())
		drive(j, 1, 20, comparetest.Flaws{}, nil)
		for i := range 12 {
			x := countExchange(i, 1, 0, 0)
			x.Request.Body, x.Monolith.Body, x.Candidate.Body = request, monolith, candidate
			x.Monolith.Status, x.Candidate.Status = a, b
			j.Observe(x)
		}
		if _, err := json.Marshal(j.Verdict()); err != nil {
			t.Error(err)
		}
		restore(t, j, judgeOf(t, countRoute()))
	})
}

func TestGarbageIsNoState(t *testing.T) {
	j := judgeOf(t, countRoute())
	drive(j, 1, 50, comparetest.Flaws{}, nil)
	kept := stateOf(t, j)
	for name, b := range map[string][]byte{
		"nothing": nil, "no JSON": []byte("x"), "empty": []byte("{}"), "half": kept[:len(kept)/2],
	} {
		if err := judgeOf(t, countRoute()).UnmarshalBinary(b); err == nil {
			t.Errorf("%s: restored", name)
		}
	}
}
