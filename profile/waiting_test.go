package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// turns is a Node profile of what ran for how long; "": nothing ran, "gc": the collector.
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
			fatal.Same(t, len(all), 0, "%s: %+v", name, all)
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
	fatal.Same(t, p.CategoryOf(&p.Samples[0]), Work, "the parser's work")
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

// A thread that stands still in a call has as many samples as one that works, and used
// nothing meanwhile; one that waits for a core is not looked at.
func TestATimeOfWaitingIsNobodysWork(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		every, used time.Duration // of each sample
		want        int
	}{
		"stands still":            {10 * ms, ms / 20, 12},
		"works":                   {10 * ms, 10 * ms, 0},
		"works half of the time":  {10 * ms, 5 * ms, 0},
		"waits for a core mostly": {60 * ms, 3 * ms, 0},
	} {
		p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "handle", Owner: Own}, {Name: "other", Owner: Own}}}
		at, used := time.Duration(0), time.Duration(0)
		add := func(function int32, every, spent time.Duration) {
			p.MainClock = append(p.MainClock, ClockReading{at, used})
			at, used = at+every, used+spent
			p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: function, Line: 7}}, Value: int64(every), Objects: 1, At: at})
		}
		for range 40 {
			add(1, 10*ms, 10*ms)
		}
		for range 12 {
			add(0, c.every, c.used)
		}
		for range 40 {
			add(1, 10*ms, 10*ms)
		}
		p.MainClock = append(p.MainClock, ClockReading{at, used})
		p.Duration = at
		p.MarkWaiting()
		marked := 0
		for i := range p.Samples {
			if s := &p.Samples[i]; s.IsWaiting(p) {
				marked++
				if s.Value != 0 || p.CategoryOf(s) != Idle || p.Functions[s.Stack[1].Function].Name != "handle" {
					t.Errorf("%s: marked %+v", name, s)
				}
			}
		}
		fatal.Same(t, marked, c.want, "%s: samples that wait", name)
		if waits := p.Waits(); (waits != nil) != (c.want > 0) {
			t.Errorf("%s: waits are %v", name, waits)
		}
		for _, s := range p.Sites(9) {
			if p.Functions[s.Function].Name == "handle" && c.want > 0 {
				t.Errorf("%s: the work has %+v", name, s)
			}
		}
	}
}

// The collector that waits for its helpers is no call that waits, and what is marked adds
// up with the rest.
func TestACollectorThatWaitsIsNoCall(t *testing.T) {
	const ms = time.Millisecond
	p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{
		{Name: "handle", Owner: Own}, {Name: "(garbage collector)", Owner: System, Category: Collecting}, {Name: "(program)", Owner: System},
	}}
	at, used := time.Duration(0), time.Duration(0)
	for n := range 90 {
		p.MainClock = append(p.MainClock, ClockReading{at, used})
		s := Sample{Stack: []Frame{{Function: 0, Line: 7}}, Endpoint: "GET /", Objects: 1}
		spent := 10 * ms
		switch n / 30 {
		case 1:
			s.Stack, spent = []Frame{{Function: 1}, {Function: 0, Line: 7}}, 0
		case 2:
			s.Stack, spent = []Frame{{Function: 2}}, 0
		}
		at, used = at+10*ms, used+spent
		s.At, s.Value = at, int64(10*ms)
		p.Samples = append(p.Samples, s)
	}
	p.MainClock = append(p.MainClock, ClockReading{at, used})
	p.Duration = at
	p.MarkWaiting()
	p.FitTotal(used)
	if p.Waits() != nil {
		t.Error("the collector, or nobody's work, waits")
	}
	sum := int64(0)
	for i := range p.Samples {
		sum += p.Samples[i].Value
	}
	fatal.Same(t, sum, p.Total(), "the samples and the total")
}

// Without readings of the clock nothing is marked.
func TestNoWaitingWithoutAClock(t *testing.T) {
	p := &Profile{Functions: []Function{{Name: "handle", Owner: Own}}, Duration: time.Second}
	for i := range 100 {
		p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: 0}}, Value: 1, At: time.Duration(i) * 10 * time.Millisecond})
	}
	p.MarkWaiting()
	if p.Waits() != nil {
		t.Error("something waits")
	}
}

// A worker that waits for its jobs is sampled while it waits, though it uses nothing: its
// samples are judged one by one, since its waits are as short as its work.
func TestAWorkersShortWaitsAreNoWork(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		every time.Duration // of the clock's readings
		want  int           // samples of its wait that are left
	}{
		"read every millisecond":        {ms, 0},
		"read less often than it waits": {40 * ms, 50},
	} {
		p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "convert", Owner: Own}, {Name: "waitLoop", Owner: Library}}}
		// 5 ms of work, 5 ms of waiting, in turns; sampled in the midst of each.
		used := func(at time.Duration) time.Duration { return (at-at%(10*ms))/2 + min(at%(10*ms), 5*ms) }
		for n := range 100 {
			at := time.Duration(n)*5*ms + 5*ms/2
			p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: int32(n % 2)}}, Value: int64(5 * ms), Objects: 1, At: at})
		}
		p.Duration = 500 * ms
		for at := time.Duration(0); at < p.Duration+c.every; at += c.every {
			p.MainClock = append(p.MainClock, ClockReading{at, used(at)})
		}
		p.MarkStill()
		p.FitTotal(used(p.Duration))
		left := [2]int{}
		for i := range p.Samples {
			if s := &p.Samples[i]; p.CategoryOf(s) != Idle {
				left[s.Stack[0].Function]++
			}
		}
		fatal.Same(t, left, [2]int{50, c.want}, "%s: samples of work and of waiting that are left", name)
		if total := time.Duration(p.Total()); total < 249*ms || total > 251*ms {
			t.Errorf("%s: the total is %s", name, total)
		}
	}
}

// TestANodesLinesAreSpreadOverItsSamples: V8 does not say which sample had which
// line, so any stretch of time has them in the proportion of the whole.
func TestANodesLinesAreSpreadOverItsSamples(t *testing.T) {
	t.Parallel()
	const samples = 100
	raw := fmt.Sprintf(`{"nodes":[{"id":1,"callFrame":{"functionName":"f","url":"/a.js","lineNumber":3},
		"positionTicks":[{"line":4,"ticks":30},{"line":8,"ticks":60},{"line":9,"ticks":-5}]}],
		"samples":[%s1],"timeDeltas":[%s10],"startTime":0,"endTime":2000}`, strings.Repeat("1,", samples-1), strings.Repeat("10,", samples-1))
	p, err := ReadV8CPU([]byte(raw), time.Time{})
	fatal.If(t, err)
	lines := map[int32]int{}
	for i, s := range p.Samples {
		if lines[s.Stack[0].Line]++; i == 49 && (lines[4] != 15 || lines[8] != 30 || lines[0] != 5) {
			t.Errorf("the first half has the lines %v", lines)
		}
	}
	if lines[4] != 30 || lines[8] != 60 || lines[0] != 10 || len(p.Samples) != samples {
		t.Errorf("%d samples have the lines %v", len(p.Samples), lines)
	}
}

// What whittle runs in the process while it profiles it is nobody else's: its reading of
// files while a handler waits is no synchronous call of the handler's, and the wrapper by
// which it sees an event is on nobody's stack.
func TestWhatWhittleRunsIsItsOwn(t *testing.T) {
	t.Parallel()
	const raw = `{"nodes":[
		{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,5]},
		{"id":2,"callFrame":{"functionName":"handle","url":"/a.js","lineNumber":3},"children":[3],"positionTicks":[{"line":5,"ticks":1}]},
		{"id":3,"callFrame":{"functionName":"","url":"whittle:script"},"children":[4]},
		{"id":4,"callFrame":{"functionName":"readFileSync","url":"node:fs","lineNumber":9},"positionTicks":[{"line":12,"ticks":1}]},
		{"id":5,"callFrame":{"functionName":"value","url":"whittle:script"},"children":[6],"positionTicks":[{"line":190,"ticks":1}]},
		{"id":6,"callFrame":{"functionName":"emit","url":"node:events"},"positionTicks":[{"line":7,"ticks":1}]}],
		"samples":[2,4,6,5],"timeDeltas":[10,10,10,10],"startTime":0,"endTime":50}`
	p, err := ReadV8CPU([]byte(raw), time.Time{})
	fatal.If(t, err)
	var got []string
	for _, s := range p.Samples {
		text := ""
		for _, f := range s.Stack {
			text += fmt.Sprintf("%s:%d ", p.Functions[f.Function].Name, f.Line)
		}
		got = append(got, text)
	}
	fatal.Same(t, got, []string{"handle:5 ", "(whittle):0 ", "emit:7 "}, "stacks")
}
