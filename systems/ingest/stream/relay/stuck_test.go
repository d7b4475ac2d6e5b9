package relay

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"whittle/systems/ingest/stream"
)

// TestAStuckKeyHoldsLittle has one key of many fail for long while the others
// have far more to send than the window: what is held in memory is bounded,
// and so is what is looked for at the sink after a crash.
func TestAStuckKeyHoldsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Limits: quick(), Dir: folder(t)}
		o.Window, o.Lookback = 100, 400
		g := openOver(t, o, func(d *fakeSink) stream.Stream { return &stuckKey{d, "stuck"} })
		mustAppend(t, g, event("stuck", 0))
		const others = 2000
		for n := range others {
			mustAppend(t, g, event(fmt.Sprint("k", n%50), n/50))
			if n%10 == 0 {
				time.Sleep(50 * time.Millisecond)
			}
			g.drain.mu.Lock()
			held := len(g.drain.win.order)
			for _, it := range g.drain.win.order {
				if it.settled && it.record.Value != nil {
					t.Errorf("the value of %d is held, and the sink has it", it.seq)
				}
			}
			g.drain.mu.Unlock()
			if held > 2*o.Window {
				t.Errorf("%d records are held after %d", held, n)
				break
			}
		}
		if got := len(counts(t, g.sinks)); got < 2*o.Window-5 {
			t.Errorf("%d records passed the stuck one, and %d may be behind it", got, 2*o.Window)
		}
		g.crash()
		g.wrap = nil
		g.again(t, o)
		g.close(t)
		got := counts(t, g.sinks)
		for id, n := range got {
			if n != 1 {
				t.Errorf("%s came %d times", id, n)
			}
		}
		if len(got) != others+1 {
			t.Errorf("%d records arrived", len(got))
		}
	})
}

// TestValuesAreCopiedApart from the memory they were read into, and from more than a few others.
func TestValuesAreCopiedApart(t *testing.T) {
	var p packer
	pieces := map[*byte]int{}
	for n := range 100 {
		read := bytes.Repeat([]byte{byte(n)}, 1+n*100)
		v := p.copy(read)
		clear(read)
		if len(v) != 1+n*100 || v[0] != byte(n) || v[len(v)-1] != byte(n) {
			t.Fatalf("value %d is not what it was", n)
		}
		if _ = append(v, 0xff); len(p.shared) > 0 && bytes.Contains(p.shared, []byte{0xff}) {
			t.Fatalf("value %d grew into its neighbour", n)
		}
		if n > 50 && cap(v) > 2*len(v) {
			t.Errorf("a value of %d bytes has %d", len(v), cap(v))
		}
		pieces[&p.shared[:1][0]]++
	}
	if len(pieces) < 4 || cap(p.shared) != sharedLen {
		t.Errorf("%d pieces of %d bytes", len(pieces), cap(p.shared))
	}
}
