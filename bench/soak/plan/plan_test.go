package plan

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

var everything = Client{Ways: []Way{Get, Head, Post, Chunked, Expect, Events, Upgrade, Call, CallStream}, Largest: 10 << 20, Abrupt: true}

// TestDraw draws many plans: each is the same when it is drawn again, goes through its
// header, and has faults that fit; all faults and ways are drawn.
func TestDraw(t *testing.T) {
	const many = 200_000
	faults, ways := map[Fault]int{}, map[Way]int{}
	for n := uint64(1); n <= many; n++ {
		p := Draw(7, n, &everything)
		faults[p.Fault]++
		ways[p.Way]++
		got, err := Parse(p.Text())
		if err != nil {
			t.Fatal(err)
		}
		if got.Route = p.Route; *got != *p || *Draw(7, n, &everything) != *p {
			t.Fatalf("%+v became %+v", p, got)
		}
		switch {
		case p.Once && p.Candidate != p.Fault,
			p.Bodiless() && (p.Fault == ResetBody || p.Framing != ByLength),
			p.Once && p.Repeatable(), p.Fault == ReuseClose && !p.Repeatable():
			t.Fatalf("%+v does not fit", p)
		}
	}
	for f := range NumberOfFaults_ {
		if f != LastHarmless && faults[f] == 0 {
			t.Errorf("no %s in %d", f, many)
		}
	}
	if len(ways) != int(NumberOfWays_) {
		t.Errorf("ways %v", ways)
	}
	if none := faults[None]; none < many/2 || none > many*99/100 {
		t.Errorf("%d of %d have no fault", none, many)
	}
	calm := everything
	calm.Calm, calm.Abrupt = true, false
	for n := uint64(1); n <= many/10; n++ {
		if p := Draw(7, n, &calm); p.Way < Events && (!p.Fault.Harmless() || p.Once || p.Framing == ByClose || p.Fault == Abrupt) {
			t.Fatalf("%+v is not calm", p)
		}
	}
}

func TestParse(t *testing.T) {
	good := Draw(1, 1, &everything).Text()
	for _, text := range []string{"", "1", good + ".1", strings.Replace(good, ".", ".x", 1), "1.1.99.200.0.0.0.0.0.0.0", "1.1.0.200.0.0.0.0.99.0.0"} {
		if p, err := Parse(text); err == nil {
			t.Errorf("%q is %+v", text, p)
		}
	}
}

// TestVerify changes a body in every way: each is found, and one of another request is
// called so.
func TestVerify(t *testing.T) {
	buf := make([]byte, 1000)
	for _, length := range []int{0, 1, prefixLength, prefixLength + 1, 5000, 2 * tableLength} {
		p, q := &Plan{Number: 12, Seed: 3, Length: length, Upload: length}, &Plan{Number: 13, Seed: 3, Length: length}
		body, other := p.Response(), q.Response()
		whole := body.Bytes()
		if read, err := io.ReadAll(body.Reader()); err != nil || !bytes.Equal(read, whole) || len(whole) != length {
			t.Fatalf("%d bytes, %v", len(read), err)
		}
		if err := body.Verify(iotest.HalfReader(bytes.NewReader(whole)), buf); err != nil {
			t.Errorf("length %d: %v", length, err)
		}
		if err := body.Verify(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(whole))), buf); length > 1 && !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("length %d: an error of the reading is %v", length, err)
		}
		wrong := map[string][]byte{"one more": append(bytes.Clone(whole), 'x')}
		if length > 0 {
			wrong["one less"] = whole[:length-1]
			last := bytes.Clone(whole)
			last[length-1] ^= 1
			wrong["the last changed"] = last
		}
		if length > 100 {
			wrong["shifted"] = append(bytes.Clone(whole[:50]), whole[51:]...)
			up := p.Request()
			wrong["the upload"] = up.Bytes()
		}
		for name, b := range wrong {
			var m *Mismatch
			if err := body.Verify(bytes.NewReader(b), buf); !errors.As(err, &m) || m.Mixed {
				t.Errorf("length %d, %s: %v", length, name, err)
			}
		}
		var m *Mismatch
		if err := body.Verify(bytes.NewReader(other.Bytes()), buf); length >= prefixLength && (!errors.As(err, &m) || !m.Mixed || m.Other != 13) {
			t.Errorf("length %d: another's is %v", length, err)
		}
	}
}
