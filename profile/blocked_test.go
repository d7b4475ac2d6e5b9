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

// Calls in turns that are distinguished are no long one, however close they are.
func TestTurnsAreDistinguished(t *testing.T) {
	p := Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "work", Owner: Own}}}
	for i := range 100 {
		p.Samples = append(p.Samples, Sample{Stack: []Frame{{}}, Value: int64(10 * time.Millisecond), At: time.Duration(i) * 10 * time.Millisecond})
		if i%2 == 0 {
			p.Turns = append(p.Turns, p.Samples[i].At)
		}
	}
	p.Duration = time.Second
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
	at := time.Duration(0)
	for range 4 {
		for range 50 {
			p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: 2}, {Function: 1}}, Value: 2e6, At: at})
			at += 2 * time.Millisecond
		}
		p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: 0}}, Value: 2e6, At: at})
		at += 2 * time.Millisecond
	}
	p.Duration = at
	if b := p.Blocked(); len(b) != 1 || b[0].Root != 2 || b[0].Inner != 2 || b[0].Count != 4 || !b[0].Sure {
		t.Errorf("%+v", b)
	}
	if c := p.CategoryOf(&p.Samples[0]); c != Work {
		t.Errorf("the parser's work is %q", c)
	}
}
