package relay

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"whittle"
	"whittle/systems/ingest/stream"
)

func reopenPositions(t *testing.T, dir string, p *checkpointStore) *checkpointStore {
	t.Helper()
	if p != nil {
		p.close()
	}
	p, err := openCheckpoints(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPositionSurvivesATornWrite tears and flips the newer file at every place:
// the older one counts then, and the next save takes the checkpoint of the torn one.
func TestPositionSurvivesATornWrite(t *testing.T) {
	dir := folder(t)
	p := reopenPositions(t, dir, nil)
	at := newCheckpoint()
	for n := range uint64(5) {
		at.Next = n
		for i := range at.Queues {
			at.Queues[i] = n + uint64(i)
		}
		at.Ends = map[string]string{"0": strconv.FormatUint(100*n, 10)}
		if err := p.save(&at); err != nil {
			t.Fatal(err)
		}
	}
	newest := filepath.Join(dir, "position."+strconv.Itoa(1-p.next))
	whole, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(whole, "\x00"))
	for cut := 0; cut <= used; cut += 7 {
		for _, damage := range []func([]byte) []byte{
			func(b []byte) []byte { return b[:cut] },
			func(b []byte) []byte { b[min(cut, used-1)] ^= 1 << (cut % 8); return b },
		} {
			if err := os.WriteFile(newest, damage(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			p = reopenPositions(t, dir, p)
			got, err := p.load()
			want := uint64(3)
			if cut == used && len(damage(bytes.Clone(whole))) == used {
				want = 4 // only zeros were cut off
			}
			if err != nil || got.Next != want || got.ID != at.ID {
				t.Fatalf("cut at %d: %+v, %v", cut, got, err)
			}
		}
	}
	at.Next = 9
	for i := range at.Queues {
		at.Queues[i] += 9
	}
	if err := p.save(&at); err != nil {
		t.Fatal(err)
	}
	p = reopenPositions(t, dir, p)
	defer p.close()
	if got, err := p.load(); err != nil || got.Next != 9 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestPositionThatIsLostIsNoNewOne(t *testing.T) {
	dir := folder(t)
	p := reopenPositions(t, dir, nil)
	at := newCheckpoint()
	for range 2 {
		if err := p.save(&at); err != nil {
			t.Fatal(err)
		}
	}
	if other, err := openCheckpoints(dir); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("a second process: %v, %v", other, err)
	}
	p.close()
	for _, name := range []string{"position.0", "position.1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("rubbish"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openCheckpoints(dir); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("both broken: %v", err)
	}
	if _, err := openCheckpoints(""); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("no folder: %v", err)
	}
}

func FuzzDecodePosition(f *testing.F) {
	f.Add(encodeCheckpoint(7, []byte(`{"id":"x"}`)))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		generation, body, err := decodeCheckpoint(b)
		if err != nil {
			return
		}
		g, again, err := decodeCheckpoint(encodeCheckpoint(generation, body))
		if err != nil || g != generation || !bytes.Equal(again, body) {
			t.Errorf("%d %q became %d %q: %v", generation, body, g, again, err)
		}
		p := checkpointStore{body: body}
		if at, err := p.load(); err == nil && len(at.Queues) != keyQueues {
			t.Errorf("loaded: %+v", at)
		}
	})
}

func FuzzReadLetter(f *testing.F) {
	l := DeadLetter{Record: event("k", 3), Reason: "too large", Origin: "id/3"}
	r := l.seal()
	f.Add(r.Value, "id/3", "too large")
	f.Add([]byte{}, "", "")
	f.Fuzz(func(t *testing.T, value []byte, origin, reason string) {
		r := stream.Record{Value: value, Header: []stream.Header{{Name: OriginHeader, Value: origin}, {Name: reasonHeader, Value: reason}}}
		r.Seal()
		l, err := ReadDeadLetter(&r)
		if err != nil {
			return
		}
		sealed := l.seal()
		again, err := ReadDeadLetter(&sealed)
		if err != nil || again.Origin != l.Origin || again.Record.ID != l.Record.ID || !bytes.Equal(again.Record.Value, l.Record.Value) {
			t.Errorf("%+v became %+v: %v", l, again, err)
		}
	})
}

func FuzzOrigin(f *testing.F) {
	f.Add("id/12/abc")
	f.Add("id/-1")
	f.Fuzz(func(t *testing.T, value string) {
		r := stream.Record{Header: []stream.Header{{Name: OriginHeader, Value: "other/1"}, {Name: OriginHeader, Value: value}}}
		seq, digest, at, ok := originOf(&r, "id")
		if !ok {
			return
		}
		r.Header[at].Value = formatOrigin("id", seq, digest)
		if s, d, _, ok := originOf(&r, "id"); !ok || s != seq || d != digest {
			t.Errorf("%q became %d %q %v", value, s, d, ok)
		}
	})
}
