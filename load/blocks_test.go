package load

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/load/cpu"
	"whittle/load/plan"
)

func newBlocks(t *testing.T, p *plan.Plan, o Options, length time.Duration) *Blocks {
	t.Helper()
	r, err := NewRunner(p, o)
	fatal.If(t, err)
	return r.Blocks(length)
}

// sendBlocks sends so many blocks of a plan, keeps each, and ends them.
func sendBlocks(t *testing.T, p *plan.Plan, o Options, n int, arrivals ...plan.Arrival) *Blocks {
	t.Helper()
	o.MaxLate = time.Minute
	b := newBlocks(t, p, o, 50*time.Millisecond)
	defer b.Close()
	for i := range n {
		if _, err := b.Run(t.Context(), arrivals, uint64(i), func(Result) {}); err != nil {
			t.Fatal(err)
		}
		b.Keep()
	}
	return b
}

func TestBlocksRunTheFlowsAroundARunOnce(t *testing.T) {
	d := newAsked(t, shop)
	p := parsed(t, `
config: {target: '`+d.URL+`', phases: [{duration: 1, arrivalCount: 1}]}
before: {flow: [{get: {url: /login, capture: {json: $.token, as: t}}}]}
after: {flow: [{get: {url: '/bye/{{ t }}'}}]}
scenarios: [{flow: [{get: {url: '/{{ t }}'}}]}]`)
	sendBlocks(t, p, Options{}, 3, plan.Arrival{})
	fatal.Same(t, strings.Join(d.read(), "|"), "GET /login|GET /t0p|GET /t0p|GET /t0p|GET /bye/t0p", "asked")
}

func TestBlocksWhoseBeforeFailsRunNothingElse(t *testing.T) {
	d := newAsked(t, shop)
	p := parsed(t, `
config: {target: '`+d.URL+`', phases: [{duration: 1, arrivalCount: 1}]}
before: {flow: [{get: {url: /login, expect: {statusCode: 404}}}]}
after: {flow: [{get: {url: /bye}}]}
scenarios: [{flow: [{get: {url: /}}]}]`)
	b := newBlocks(t, p, Options{}, 50*time.Millisecond)
	if _, err := b.Run(t.Context(), []plan.Arrival{{}}, 0, nil); err == nil || !strings.Contains(err.Error(), "before the run failed") {
		t.Errorf("%v", err)
	}
	b.Close()
	fatal.Same(t, d.read(), []string{"GET /login"}, "asked")
}

func TestTheFlowBeforeARunIsNotInTheCPUOfAWatchedProcess(t *testing.T) {
	needs.Linux(t, "CPU of another process, from /proc")
	const burnt = 500 * time.Millisecond
	srv := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/prepare" {
			for began := cpu.Own(); cpu.Own()-began < burnt; {
				_ = strings.Repeat("work", 1000)
			}
		}
	})
	p := parsed(t, `
before: {flow: [{post: {url: /prepare}}]}
scenarios: [{flow: [{get: {url: /}}]}]`)
	r := run(t, once(p), Options{Target: srv, Watch: []cpu.Process{{Name: "own", PID: os.Getpid()}}})
	// The server is this process. Half of it leaves room for what else it does.
	if got := r.Processes[0].CPU; got > float64(burnt.Milliseconds())/2 {
		t.Errorf("%v ms of CPU for one request, and %v before it", got, burnt)
	}
}

func TestDataSetsGoOnFromBlockToBlock(t *testing.T) {
	d := newAsked(t, nil)
	counter := element("CounterConfig", "CounterConfig.name", "i", "CounterConfig.incr", "1")
	set := element("CSVDataSet", "filename", "u.csv")
	p, err := readJMX(t, jmx(threads(2, 1, set+counter+get("/${name}", "")+get("/i${i}", ""))), map[string]string{"u.csv": "name\n" + rows(50_000)})
	fatal.If(t, err)
	sendBlocks(t, p, Options{Target: d.URL}, 3)
	checkRows(t, d.seen, len(d.seen))
	// A block's end cuts off at most the request that each of the two users has
	// under way, so at most 3 × 2 rows are handed out and not seen.
	for _, kind := range []string{"GET /r", "GET /i"} {
		seen, last := 0, -1
		for name := range d.seen {
			if n, err := strconv.Atoi(strings.TrimPrefix(name, kind)); err == nil {
				seen, last = seen+1, max(last, n)
			}
		}
		if missing := last + 1 - seen; seen == 0 || missing > 6 {
			t.Errorf("%s: %d seen, %d missing of those up to %d", kind, seen, missing, last)
		}
	}
}

func TestClosedUsersGoThroughAPayloadInSequence(t *testing.T) {
	p, err := Parse("p.yml", []byte(`
config: {payload: {path: rows.csv, fields: [name], order: sequence}}
scenarios: [{flow: [{get: {url: "/{{ name }}"}}]}]`), plan.Source{Open: func(string) ([]byte, error) { return []byte(rows(50_000)), nil }})
	fatal.If(t, err)
	if p, err = p.WithUsers(plan.Closed{Users: 3, Loops: 4}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for i := range 12 {
		want[fmt.Sprintf("GET /r%d", i)] = 1
	}
	d := newAsked(t, nil)
	run(t, p, Options{Target: d.URL})
	d.want(t, want)
	blocks := newAsked(t, nil)
	sendBlocks(t, p, Options{Target: blocks.URL}, 3)
	if checkRows(t, blocks.seen, len(blocks.seen)); len(blocks.seen) < 9 || blocks.seen["GET /r0"] != 1 {
		t.Errorf("only %d rows", len(blocks.seen))
	}
}

// What a plan's scripts go on with by themselves ends with each run: of the plan, of its
// blocks, and of one that sends nothing.
func TestScriptsRestWhenARunIsOver(t *testing.T) {
	p := planOf(t, map[string]string{
		"plan.yml": "config: {processor: ./p.js}\nscenarios: [{flow: [{get: {url: /, json: {a: 1}, allowGetBody: true, beforeRequest: f}}]}]",
		"p.js":     "setInterval(() => console.log('still here'), 1); exports.f = (r, c, e, next) => { r.headers = {a: 'b'}; next() }",
	})
	rests := 0
	rest := p.Rest
	p.Rest = func() { rest(); rests++ }
	d := newAsked(t, shop)
	run(t, p, Options{Target: d.URL})
	sendBlocks(t, p, Options{Target: d.URL}, 2, plan.Arrival{})
	if rests != 2 || len(d.read()) != 3 {
		t.Errorf("%d rests, asked %q", rests, d.read())
	}
}

// An async method of an object or a class is awaited like every async function; a plain
// method that is called async has its callback.
func TestAsyncMethodsAreAwaited(t *testing.T) {
	p := planOf(t, map[string]string{
		"plan.yml": "config: {processor: ./p.js}\nscenarios: [{flow: [{function: f}, {function: s}, {function: async}, {get: {url: '/', beforeRequest: b}}]}]",
		"p.js": `class C { static async s(c) { await null; c.vars.s = 's' } }
			module.exports = {
				async f(c) { await null; c.vars.f = 'f' }, s: C.s,
				async(c, e, done) { setTimeout(() => { c.vars.a = 'a'; done() }, 1) },
				async b(r, c) { await null; r.url = '/' + c.vars.f + c.vars.s + c.vars.a },
			}`,
	})
	d := newAsked(t, func(w http.ResponseWriter, _ *http.Request) {})
	run(t, p, Options{Target: d.URL})
	if asked := d.read(); len(asked) != 1 || !strings.Contains(asked[0], "/fsa") {
		t.Errorf("asked %q", asked)
	}
}
