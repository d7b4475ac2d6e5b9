package evidence

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
)

func someOutcomes(n int) []whittle.Outcome {
	all := make([]whittle.Outcome, n)
	at := time.Unix(1_700_000_000, 5)
	for i := range all {
		at = at.Add(time.Duration(i%7-3) * time.Millisecond) // their order is not that of time
		all[i] = whittle.Outcome{
			Route: "GET /x", User: uint64(i) << 50, At: at, Side: whittle.Side(i % 2), Status: []int{0, 200, 599}[i%3],
			Failure: failures[i%len(failures)], Latency: time.Duration(i) * time.Millisecond, FellBack: i%5 == 0, BothBad: i%10 == 0,
		}
	}
	return all
}

func TestOutcomesComeBackAsTheyWere(t *testing.T) {
	edge := []whittle.Outcome{
		{Route: "", User: math.MaxUint64, At: time.Unix(0, math.MinInt64), Latency: math.MaxInt64, Status: math.MaxInt32},
		{Route: "", At: time.Unix(0, math.MaxInt64)},
	}
	for _, want := range [][]whittle.Outcome{edge, {}, someOutcomes(100)} {
		route := ""
		if len(want) > 0 {
			route = want[0].Route
		}
		b := AppendOutcomes([]byte("before"), route, want)
		b = bytes.TrimPrefix(b, []byte("before"))
		if name, got, ok := Outcomes(b); !ok || name != route || !reflect.DeepEqual(got, want) {
			t.Errorf("%q %t\ngot  %+v\nwant %+v", name, ok, got, want)
		}
		for end := range b {
			if _, _, ok := Outcomes(b[:end]); ok {
				t.Fatalf("%d bytes of %d are read as a message", end, len(b))
			}
		}
	}
}

func TestOutcomesAreBounded(t *testing.T) {
	b := AppendOutcomes(nil, "GET /x", someOutcomes(MaxOutcomes+1))
	if _, got, ok := Outcomes(b); !ok || len(got) != MaxOutcomes {
		t.Errorf("%t, %d", ok, len(got))
	}
	if len(b) > MaxMessage/10 {
		t.Errorf("%d bytes", len(b))
	}
	for name, b := range map[string][]byte{
		"a long name":     append([]byte{outcomesVersion, 0xff, 0xff, 0xff, 1}, make([]byte, 100)...),
		"too many":        {outcomesVersion, 0, 0xff, 0xff, 3},
		"another version": {outcomesVersion + 1, 0, 0},
		"JSON":            []byte(`{"version":1,"route":"GET /x","outcomes":[]}`),
		"more behind":     {outcomesVersion, 0, 0, 0},
		"too long":        make([]byte, MaxMessage+1),
	} {
		if _, _, ok := Outcomes(b); ok {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestEachFailureHasANumber: one that is added to the package's must be added here, too.
func TestEachFailureHasANumber(t *testing.T) {
	for _, f := range []whittle.Failure{
		whittle.NoFailure, whittle.FailedConnect, whittle.FailedTimeout, whittle.FailedReset, whittle.FailedMalform, whittle.FailedTooLarge,
		whittle.FailedBusy, whittle.FailedCanceled,
	} {
		_, got, ok := Outcomes(AppendOutcomes(nil, "r", []whittle.Outcome{{Failure: f, At: time.Unix(1, 0)}}))
		if !ok || got[0].Failure != f {
			t.Errorf("%q comes back as %+v", f, got)
		}
	}
}

// FuzzOutcomes: whatever comes is a message that is written the same again, or none.
func FuzzOutcomes(f *testing.F) {
	f.Add(AppendOutcomes(nil, "GET /x", someOutcomes(3)))
	f.Add(AppendOutcomes(nil, strings.Repeat("x", 300), nil))
	f.Add([]byte{outcomesVersion, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		route, all, ok := Outcomes(b)
		if !ok {
			return
		}
		name, again, ok := Outcomes(AppendOutcomes(nil, route, all))
		if !ok || name != route || !slices.Equal(all, again) {
			t.Errorf("%t %q\n%+v\n%+v", ok, name, all, again)
		}
	})
}

// BenchmarkOutcomes is what the leader spends to read a message with as many outcomes as a
// gateway with few and with many users has at a time.
func BenchmarkOutcomes(b *testing.B) {
	for name, n := range map[string]int{"1": 1, "1000": 1000} {
		all := someOutcomes(n)
		message := AppendOutcomes(nil, "GET /x", all)
		text, err := json.Marshal(all)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := Outcomes(message); !ok {
					b.Fatal("not read")
				}
			}
		})
		b.Run(name+"/as JSON", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var got []whittle.Outcome
				if err := json.Unmarshal(text, &got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
