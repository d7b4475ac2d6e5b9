package capture

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// sealed makes a block of n entries that differ.
func sealed(t testing.TB, n int) ([]byte, []*Entry) {
	t.Helper()
	var b Block
	var all []*Entry
	for i := range n {
		e := full()
		e.At = e.At.Add(time.Duration((i*7)%n) * time.Second)
		e.Route = fmt.Sprint("r", i%2)
		e.Request.Target = fmt.Sprintf("/orders/%d/lines?x=%d", i, i)
		e.Response.Status = 200 + i%3
		all = append(all, e)
		fatal.If(t, b.Add(e))
	}
	bytes := b.Seal(nil, 42)
	if b.Len() != 0 || b.Unpacked() != 0 {
		t.Fatal("a sealed block is not empty")
	}
	return bytes, all
}

func readBlock(h *Header, body []byte) (all []*Entry, err error) {
	var r BlockReader
	if err := r.Reset(h, body); err != nil {
		return nil, err
	}
	for {
		var e Entry
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, e.Clone())
	}
}

func TestABlockComesBackAsItWas(t *testing.T) {
	b, want := sealed(t, 100)
	h, ok := ParseHeader(b)
	if !ok || h.Count != 100 || h.Segment != 42 || h.Size() != int64(len(b)) {
		t.Fatalf("header %+v of %d bytes", h, len(b))
	}
	if !h.First().Equal(full().At) || !h.Last().Equal(full().At.Add(99*time.Second)) {
		t.Errorf("from %s to %s", h.First(), h.Last())
	}
	got, err := readBlock(&h, b[HeaderLen:])
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	if again, _ := sealed(t, 100); !reflect.DeepEqual(again, b) {
		t.Error("the same entries make other bytes")
	}
}

// Any flipped bit is found: in the header or the payload.
func TestAFlippedBitIsFound(t *testing.T) {
	b, _ := sealed(t, 20)
	for at := range b {
		b[at] ^= 1 << (at % 8)
		h, ok := ParseHeader(b)
		if ok {
			if _, err := readBlock(&h, b[HeaderLen:]); err == nil {
				t.Fatalf("byte %d of %d", at, len(b))
			}
		}
		b[at] ^= 1 << (at % 8)
	}
}

func TestWhatDoesNotCompressFits(t *testing.T) {
	e := full()
	e.Response.Body = make([]byte, MaxBody)
	e.Request.Body = make([]byte, MaxBody)
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range e.Response.Body {
		e.Response.Body[i], e.Request.Body[i] = byte(noise.Uint32()), byte(noise.Uint32())
	}
	var b Block
	fatal.If(t, b.Add(e))
	sealed := b.Seal(nil, 1)
	h, ok := ParseHeader(sealed)
	if !ok {
		t.Fatal("no header")
	}
	if got, err := readBlock(&h, sealed[HeaderLen:]); err != nil || !reflect.DeepEqual(got, []*Entry{e}) {
		t.Errorf("%d entries, %v", len(got), err)
	}
}

// What can be written is read back as it was.
func FuzzRoundTrip(f *testing.F) {
	f.Add("r", uint64(1), int64(1), "GET", "/a?b", "h", "K", "v", []byte("body"), 200, int64(5), "timeout", "detail", uint8(7))
	f.Add("", uint64(0), int64(0), "", "", "", "", "", []byte{}, 0, int64(0), "", "", uint8(0))
	f.Fuzz(func(t *testing.T, route string, conn uint64, at int64, method, target, host, name, value string, body []byte, status int, latency int64, failure, detail string, flags uint8) {
		if len(body) == 0 {
			body = nil
		}
		e := &Entry{
			Route: route, Conn: conn, At: time.Unix(0, at).UTC(), Served: whittle.Side(flags >> 2 & 1),
			Request: whittle.Request{Method: method, Target: target, Host: host, Header: whittle.Header{name: {value, value}}, Body: body, Truncated: flags&1 > 0},
			Response: whittle.Response{
				Status: status, Header: whittle.Header{value: {}, name: {detail}}, Trailer: whittle.Header{host: {}}, Body: body, Truncated: flags&2 > 0,
				Latency: max(0, time.Duration(latency)), Failure: whittle.Failure(failure), Detail: detail,
			},
		}
		b, err := AppendEntry(nil, e)
		if err != nil {
			return
		}
		var d Decoder
		var got Entry
		rest, err := d.Decode(b, &got)
		if err != nil || len(rest) > 0 || !reflect.DeepEqual(&got, e) {
			t.Fatalf("%v, %d left\n got %+v\nwant %+v", err, len(rest), got, *e)
		}
	})
}

// What can be read can be written, and is the same then.
func FuzzDecode(f *testing.F) {
	b, err := AppendEntry(nil, full())
	fatal.If(f, err)
	f.Add(b)
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		var e, again Entry
		rest, err := d.Decode(b, &e)
		if err != nil {
			return
		}
		w, err := AppendEntry(nil, &e)
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", e, err)
		}
		if len(w) > len(b)-len(rest) {
			t.Fatalf("%d bytes became %d", len(b)-len(rest), len(w))
		}
		if _, err := d.Decode(w, &again); err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, again, e)
		}
	})
}

// A block's bytes may be anything; a sum that matches proves no good will.
func FuzzBlock(f *testing.F) {
	b, _ := sealed(f, 5)
	h, _ := ParseHeader(b)
	f.Add(b[:HeaderLen], b[HeaderLen:], uint32(h.raw))
	f.Fuzz(func(t *testing.T, head, payload []byte, raw uint32) {
		_, _ = ParseHeader(head)
		if h, ok := ParseHeader(slices.Concat(head, payload)); ok && (h.Size() < HeaderLen || h.First().After(h.Last())) {
			t.Fatalf("header %+v", h)
		}
		h := Header{Count: 5, raw: int(raw % (1 << 20)), payload: len(payload), payloadSum: checksum(payload)}
		if all, err := readBlock(&h, payload); err == nil && len(all) != h.Count {
			t.Fatalf("%d entries", len(all))
		}
	})
}

func keyOf(target string) RequestKey {
	return KeyOf(&whittle.Request{Method: "GET", Target: target})
}

func seen(s *Sample[string], target, kind string, size int) {
	s.See(keyOf(target), kind, size, func() (string, bool) { return target + " " + kind, true })
}

// TestTheSampleHasEachInputOnce: however often and in whatever order inputs
// come, each is chosen once while there is room.
func TestTheSampleHasEachInputOnce(t *testing.T) {
	s := &Sample[string]{Room: 16, Bytes: 1 << 20}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		n := r.IntN(9)
		kind := "200"
		if n == 8 {
			kind = "400"
		}
		seen(s, fmt.Sprint("/primes/", n), kind, 10)
	}
	got := s.Chosen()
	slices.Sort(got)
	want := []string{
		"/primes/0 200", "/primes/1 200", "/primes/2 200", "/primes/3 200", "/primes/4 200", "/primes/5 200", "/primes/6 200", "/primes/7 200", "/primes/8 400",
	}
	if !slices.Equal(got, want) || s.Seen() != 500 {
		t.Errorf("chosen %q of %d", got, s.Seen())
	}
	if c := s.Coverage(); c != (Coverage{Inputs: 9, Covered: 9, Kinds: 2, KindsCovered: 2}) || c.String() != "9 of 9 distinct recorded inputs" {
		t.Errorf("coverage %+v, %s", c, c)
	}
}

// TestTheSampleHasRareKinds: a kind that came once, last and large, is chosen
// before the hundredth input of a frequent one, and bounds hold.
func TestTheSampleHasRareKinds(t *testing.T) {
	s := &Sample[string]{Room: 10, Bytes: 1000}
	for i := range 5000 {
		seen(s, fmt.Sprint("/", i), "200", 100)
	}
	seen(s, "/rare", "500", 700)
	seen(s, "/huge", "501", 2000)
	seen(s, "/7", "404", 100)
	got := s.Chosen()
	if !slices.Contains(got, "/rare 500") || !slices.Contains(got, "/7 404") || slices.Contains(got, "/huge 501") || len(got) > 10 {
		t.Errorf("chosen %q", got)
	}
	if c := s.Coverage(); c.Inputs != 5002 || c.Kinds != 4 || c.KindsCovered != 3 || c.Covered != len(got) ||
		c.String() != fmt.Sprintf("%d of 5002 distinct recorded inputs, and 3 of 4 kinds of exchange", len(got)) {
		t.Errorf("coverage %+v, %s", c, c)
	}
	if none := (&Sample[string]{}); len(none.Chosen()) != 0 {
		t.Error("the zero value chooses")
	}
}

// TestTheSampleIsEven: no input is preferred for having come early or often, but
// the first of its kind. Hypothesis: each of the other 999 inputs is among the 99
// with the same probability, over the inputs' names. The first tenth, which comes
// ten times as often, then has 1 + 99·99/999 of 100, and over 200 logs its share
// has a standard deviation of 0.002 (hypergeometric): outside of five of them by
// chance less than once in a million.
func TestTheSampleIsEven(t *testing.T) {
	early := 0
	for log := range 200 {
		s := &Sample[int]{Room: 100, Bytes: 1 << 30}
		for i := range 1900 {
			n := i
			if i >= 1000 {
				n %= 100
			}
			s.See(keyOf(fmt.Sprint(log, "/", n)), "200", 1, func() (int, bool) { return n, true })
		}
		for _, n := range s.Chosen() {
			if n < 100 {
				early++
			}
		}
	}
	if share, want := float64(early)/20_000, (1+99*99/999.)/100; share < want-0.0105 || share > want+0.0105 {
		t.Errorf("%.4f of the chosen are of the first tenth, want about %.4f", share, want)
	}
}

// TestTheSampleIsBounded: inputs without end are counted up to a bound, and said.
func TestTheSampleIsBounded(t *testing.T) {
	s := &Sample[int]{Room: 2, Bytes: 100}
	for i := range maxDistinct + 10 {
		s.See(keyOf(fmt.Sprint(i)), "200", 1, func() (int, bool) { return i, true })
	}
	if c := s.Coverage(); !c.More || c.String() != fmt.Sprintf("2 of more than %d distinct recorded inputs", maxDistinct) {
		t.Errorf("%+v %s", c, c)
	}
}
