package profile

import (
	"testing"
	"time"
)

// turns makes a Node profile of what ran for how long, sampled every 2 ms; "":
// nothing ran, "gc": the collector.
func turns(all ...any) *Profile {
	p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{
		{Name: "(idle)", Owner: System, Category: Idle},
		{Name: "(garbage collector)", Owner: System, Category: Collecting},
		{Name: "count", Owner: Own},
		{Name: "draw", Owner: Own},
		{Name: "hello", Owner: Own},
	}}
	stacks := map[string][]Frame{
		"": {{Function: 0}}, "gc": {{Function: 1}}, "count": {{Function: 3}, {Function: 2}}, "hello": {{Function: 4}},
	}
	at := time.Duration(0)
	for i := 0; i < len(all); i += 2 {
		for end := at + all[i+1].(time.Duration); at < end; at += 2 * time.Millisecond {
			name := all[i].(string)
			p.Samples = append(p.Samples, Sample{Stack: stacks[name], Value: 2e6, At: at, Endpoint: map[string]string{"count": "POST /Count", "hello": "GET /"}[name]})
		}
	}
	p.Duration = at
	return p
}

func TestBlockedStretches(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		turns  []any
		want   Blocking
		nobody bool
	}{
		"three times": {
			turns: []any{"count", 60 * ms, "", 2 * ms, "count", 80 * ms, "", 10 * ms, "count", 70 * ms, "", 2 * ms},
			want:  Blocking{Count: 3, Sum: 210 * ms, Longest: 80 * ms, Sure: true},
		},
		"twice":          {turns: []any{"count", 60 * ms, "", 2 * ms, "count", 80 * ms, "", 2 * ms}, want: Blocking{Count: 2, Sum: 140 * ms, Longest: 80 * ms}},
		"once, for long": {turns: []any{"count", 700 * ms, "", 2 * ms}, want: Blocking{Count: 1, Sum: 700 * ms, Longest: 700 * ms, Sure: true}},
		"with the collector": {
			turns: []any{"count", 30 * ms, "gc", 20 * ms, "count", 20 * ms, "hello", 2 * ms, "", 2 * ms},
			want:  Blocking{Count: 1, Sum: 70 * ms, Longest: 70 * ms},
		},
		"short turns": {turns: []any{"count", 40 * ms, "hello", 4 * ms, "count", 40 * ms, "", 2 * ms, "count", 40 * ms}, nobody: true},
		"idle":        {turns: []any{"", 900 * ms}, nobody: true},
	} {
		all := turns(c.turns...).Blocked()
		if c.nobody {
			if len(all) != 0 {
				t.Errorf("%s: %+v", name, all)
			}
			continue
		}
		c.want.Root, c.want.Inner, c.want.Endpoint = 2, 3, "POST /Count"
		if len(all) != 1 || all[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, all, c.want)
		}
	}
	timeless := turns("count", 900*ms)
	timeless.Samples[7].At = -1
	if all := timeless.Blocked(); all != nil {
		t.Errorf("without times: %+v", all)
	}
	gap := turns("count", 2*ms, "", 2*ms) // one sample, and the next one a second later
	gap.Samples[0].Value, gap.Samples[1].At = int64(time.Second), time.Second
	if all := gap.Blocked(); len(all) != 1 || all[0].Sure {
		t.Errorf("a gap: %+v", all)
	}
}

// ran adds a sample for so long, of a stack that begins at its leaf.
func ran(p *Profile, spent time.Duration, stack ...int32) {
	s := Sample{Value: int64(spent), At: p.Duration}
	for _, f := range stack {
		s.Stack = append(s.Stack, Frame{Function: f})
	}
	p.Samples = append(p.Samples, s)
	p.Duration += spent
}

// Calls in turns that are distinguished are no long one, however close they are.
func TestTurnsAreDistinguished(t *testing.T) {
	p := Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "work", Owner: Own}}}
	for i := range 100 {
		if i%2 == 0 {
			p.Turns = append(p.Turns, p.Duration)
		}
		ran(&p, 10*time.Millisecond, 0)
	}
	if b := p.Blocked(); len(b) != 0 {
		t.Errorf("calls of 20 ms kept the event loop: %+v", b)
	}
	p.Turns = nil
	for i := range 10 {
		p.Turns = append(p.Turns, time.Duration(i)*100*time.Millisecond)
	}
	if b := p.Blocked(); len(b) != 1 || b[0].Count != 10 || b[0].Longest != 100*time.Millisecond {
		t.Errorf("ten calls of 100 ms: %+v", b)
	}
}

// A body parser keeps the loop without any function of the service's own on the stack: the
// library's is named, and its work is not the dispatch below it.
func TestALibraryBlocksTheLoop(t *testing.T) {
	p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{
		{Name: "(idle)", Owner: System, Category: Idle},
		{Name: "processTicksAndRejections", File: "node:internal/process/task_queues", Owner: Standard, Category: Scheduling},
		{Name: "parse", File: "/srv/node_modules/body-parser/lib/types/json.js", Owner: Library},
	}}
	for range 4 {
		for range 50 {
			ran(p, 2*time.Millisecond, 2, 1)
		}
		ran(p, 2*time.Millisecond, 0)
	}
	if b := p.Blocked(); len(b) != 1 || b[0].Root != 2 || b[0].Inner != 2 || b[0].Count != 4 || !b[0].Sure {
		t.Errorf("%+v", b)
	}
	if c := p.CategoryOf(&p.Samples[0]); c != Work {
		t.Errorf("the parser's work is %q", c)
	}
}

// What a process waited for a core is no call's: neither by the readings of its clock, nor
// where there are none.
func TestWaitingForACoreBlocksNobody(t *testing.T) {
	const ms = time.Millisecond
	// Each turn of 20 ms is in the midst of a wait of 100 ms, in which V8 sees nothing.
	p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "(idle)", Owner: System, Category: Idle}, {Name: "work", Owner: Own}}}
	for range 20 {
		ran(p, 110*ms, 1)
		ran(p, 10*ms, 1)
		for range 3 {
			ran(p, 10*ms, 0)
		}
	}
	if b := p.Blocked(); len(b) != 0 {
		t.Errorf("without readings: %+v", b)
	}
	// A neighbour's turns take the core so often that V8 sees each turn of 20 ms for 100 ms.
	p.Samples, p.Duration = nil, 0
	used := time.Duration(0)
	for range 20 {
		for range 10 {
			p.MainClock = append(p.MainClock, ClockReading{p.Duration, used})
			ran(p, 10*ms, 1)
			used += 2 * ms
		}
		p.MainClock = append(p.MainClock, ClockReading{p.Duration, used})
		ran(p, 10*ms, 0)
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
		p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "work", Owner: Own}}}
		for range 40 {
			ran(p, 10*ms, 0)
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
	p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "slice", Owner: Own}}}
	for range 20 {
		ran(p, 200*ms, 0)
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
