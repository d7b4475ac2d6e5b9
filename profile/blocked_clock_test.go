package profile

import (
	"testing"
	"time"
)

// What a process waited for a core is no call's: neither by the readings of its clock, nor
// where there are none.
func TestWaitingForACoreBlocksNobody(t *testing.T) {
	const ms = time.Millisecond
	// Each turn of 20 ms is in the midst of a wait of 100 ms, in which V8 sees nothing.
	p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "(idle)", Owner: System, Category: Idle}, {Name: "work", Owner: Own}}}
	at := time.Duration(0)
	add := func(function int32, spent time.Duration) {
		p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: function}}, Value: int64(spent), At: at})
		at += spent
	}
	for range 20 {
		add(1, 110*ms)
		add(1, 10*ms)
		add(0, 10*ms)
		add(0, 10*ms)
		add(0, 10*ms)
	}
	p.Duration = at
	if b := p.Blocked(); len(b) != 0 {
		t.Errorf("without readings: %+v", b)
	}
	// A neighbour's turns take the core so often that V8 sees each turn of 20 ms for 100 ms.
	p.Samples, at = nil, 0
	used := time.Duration(0)
	for range 20 {
		for range 10 {
			p.MainClock = append(p.MainClock, ClockReading{at, used})
			add(1, 10*ms)
			used += 2 * ms
		}
		p.MainClock = append(p.MainClock, ClockReading{at, used})
		add(0, 10*ms)
	}
	if b := p.Blocked(); len(b) != 0 {
		t.Errorf("with a neighbour: %+v", b)
	}
	// One that has the core for all of it blocks indeed.
	for i := range p.MainClock {
		p.MainClock[i].Used *= 5
	}
	if b := p.Blocked(); len(b) != 1 || !b[0].Sure || b[0].Count != 20 || b[0].Longest != 100*ms {
		t.Errorf("with the core to itself: %+v", b)
	}
}

// Where the readings of the clock are far apart, how much of what was used between them
// is a stretch's is not known, and the stretch is not named for it.
func TestAClockThatIsSeldomReadBlocksNobody(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		every time.Duration // of the readings
		want  int
	}{"often": {10 * ms, 1}, "seldom": {200 * ms, 0}} {
		p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "work", Owner: Own}}, Duration: 400 * ms}
		for at := time.Duration(0); at < 400*ms; at += 10 * ms {
			p.Samples = append(p.Samples, Sample{Stack: []Frame{{}}, Value: int64(10 * ms), At: at})
		}
		for at := 80 * ms; at < 400*ms; at += 80 * ms {
			p.Turns = append(p.Turns, at)
		}
		for at := time.Duration(0); at <= 400*ms; at += c.every {
			p.MainClock = append(p.MainClock, ClockReading{at, at})
		}
		if b := p.Blocked(); len(b) != c.want {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// V8 looks seldom where its sampler gets no core, and the event loop has had many turns
// from one sample to the next: none of them is as long as that.
func TestSamplesFarApartBlockNobody(t *testing.T) {
	const ms = time.Millisecond
	p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "slice", Owner: Own}}, Duration: 4000 * ms}
	for at := time.Duration(0); at < p.Duration; at += 200 * ms {
		p.Samples = append(p.Samples, Sample{Stack: []Frame{{}}, Value: int64(200 * ms), At: at})
	}
	for at := time.Duration(0); at < p.Duration; at += 20 * ms {
		p.Turns = append(p.Turns, at)
	}
	for name, clock := range map[string]bool{"by the clock": true, "without it": false} {
		for at := time.Duration(0); clock && at <= p.Duration; at += 10 * ms {
			p.MainClock = append(p.MainClock, ClockReading{at, at})
		}
		if b := p.Blocked(); len(b) != 0 {
			t.Errorf("%s: %+v", name, b)
		}
		p.MainClock = nil
	}
}
