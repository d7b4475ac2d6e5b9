// Package artillery reads Artillery's YAML, and the flags of a quick run, which
// share its templates.
package artillery

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
	"whittle/load/expr"
	"whittle/load/plan"
)

// reader turns the tree of an Artillery script into a plan.
type reader struct {
	*plan.Builder
	testID string
	mode   string
	// processor is the plan's JavaScript; nil: it has none. hooked is where the request
	// stands that a hook has changed.
	processor *processor
	hooked    plan.Position
	// scenario are the hooks of the scenario being read, inBefore says that it is the
	// flow before the run.
	scenario scenarioHooks
	inBefore bool
	// frozen says that the plan is read, and a request that a hook made is being.
	frozen bool
	// legacyDefaults are config.defaults, httpDefaults config.http.defaults.
	legacyDefaults, httpDefaults defaults
	// The following are the defaults of what comes after config.
	cookies   []plan.HeaderField
	fakesData bool // by a plugin, whose functions there are not here
	lenient   bool // captures may fail
	expect200 bool
	// endsOnExpect says that a failed expectation ends its user.
	endsOnExpect bool
	jitter       time.Duration
	jitterPart   float64

	digest   [sha256.Size]byte // of the source
	given    *node             // --variables; nil: none
	names    []string          // of variables, by slot, once the plan is read
	uploads  map[string]string // files read for forms, by their paths; uploaded are the bytes of all
	uploaded int
	sockets  int // config.http.maxSockets; 0: not given
	// moreNotes are notes beyond those that the report has.
	moreNotes int
}

// Parse reads an Artillery script; name is for errors, which carry
// line and column: whittle.Invalid for a mistake, whittle.Unsupported for an
// element that docs/load.md does not list as running.
func Parse(name string, src []byte, s plan.Source) (p *plan.Plan, err error) {
	defer whittle.Caught(&err)
	if len(s.Properties) > 0 {
		return nil, whittle.Errorf(whittle.Invalid, "--property is of JMeter plans, and %s is one of Artillery", name).
			WithHint("an Artillery plan has variables: --variables '{\"name\": \"value\"}'")
	}
	root := parseTree(name, src)
	r := &reader{
		Builder: plan.NewBuilder(s, name), testID: fmt.Sprintf("t%016x", rand.Uint64()), digest: sha256.Sum256(src),
		hooked: root.Position,
	}
	r.Plan.HTTP.LateCookies = true
	r.Plan.Console = &plan.Console{}
	r.script(r.assemble(root))
	return r.Plan, nil
}

func (r *reader) script(root *node) {
	later := func(*node) {} // after config, wherever they stand
	known := map[string]func(*node){
		"config": r.config, "before": later, "after": later, "scenarios": later, "version": later,
	}
	for _, f := range root.fields {
		// A key that only holds anchors is not a mistake.
		if f.value.anchored && known[f.name] == nil {
			known[f.name] = later
		}
	}
	r.engineOf(root)
	r.fields(root, "the plan", known)
	scenarios := root.get("scenarios")
	if scenarios == nil {
		panic(root.Invalid("the plan has no scenarios"))
	}
	if r.Plan.HTTP.Timeout == 0 {
		r.Plan.HTTP.Timeout = plan.DefaultTimeout
	}
	if len(r.Plan.Phases) == 0 {
		// Artillery sends one virtual user for a plan without phases.
		r.Plan.Phases = []plan.Phase{{Duration: time.Second, Count: 1, HasCount: true}}
	}
	// What before captures is defined for all that follows.
	r.inBefore = true
	r.unreportedFlow(root.get("before"), &r.Plan.Before)
	r.inBefore = false
	r.scenarios(scenarios)
	r.unreportedFlow(root.get("after"), &r.Plan.After)
	r.finish()
}

// engineOf refuses a plan for another engine by its name, before anything else in it is
// found odd.
func (r *reader) engineOf(root *node) {
	scenarios := root.get("scenarios")
	if scenarios == nil {
		return
	}
	for _, s := range scenarios.items {
		if s.kind == expr.KindMap && s.get("engine") != nil {
			r.engine(s.get("engine"))
		}
	}
}

// finish ends the reading. A variable that nothing sets is written as undefined, as by
// Artillery, and the report says so.
func (r *reader) finish() {
	for _, u := range r.Finish() {
		if r.processor == nil {
			r.note(&node{Position: u.At}, "nothing in the plan sets {{ %s }}: it is undefined, as in Artillery", u.Name)
		}
	}
	if r.moreNotes > 0 {
		r.Plan.Notes = append(r.Plan.Notes, fmt.Sprintf("%s of the plan are left out here", units.Counted(r.moreNotes, "further note")))
	}
	r.names = r.SlotNames()
	r.frozen = true
}

// unreportedFlow reads the flow of before or after. Its requests are not the run's, so
// their names are not the report's.
func (r *reader) unreportedFlow(n *node, into *[]plan.Step) {
	if n == nil || n.kind == expr.KindNull {
		return
	}
	r.Unreported(func() {
		*into = r.scenarioFlow(n, "a flow before or after the run", map[string]func(*node){
			"name": func(*node) {},
		})
	})
}

// fields reads a mapping: each key by its function; any other key is left out, as Artillery
// leaves it out, and the report says so.
func (r *reader) fields(n *node, what string, known map[string]func(*node)) {
	for _, f := range n.mapping(what + " is a mapping") {
		if read, ok := known[f.name]; ok {
			read(f.value)
			continue
		}
		r.ignored(f.name+" in "+what, fieldNames(known))(f.value)
	}
}

// str reads a text; numbers and booleans count as theirs.
func str(into *string) func(*node) {
	return func(n *node) {
		if n.kind != expr.KindString && n.kind != expr.KindNumber && n.kind != expr.KindBool {
			panic(n.Invalid("a text is wanted here, not %s", n.kind))
		}
		*into = n.text
	}
}

// number reads a number within bounds, also where it is written as a text.
func number(into *float64, low, high float64) func(*node) {
	return func(n *node) {
		f, err := strconv.ParseFloat(strings.TrimSpace(n.text), 64)
		if (n.kind != expr.KindNumber && n.kind != expr.KindString) || err != nil || math.IsNaN(f) {
			panic(n.Invalid("a number is wanted here, not %s", describe(n)))
		}
		if f < low || f > high {
			panic(n.Invalid("%s is not within %s and %s", n.text, units.Plain(low), units.Plain(high)))
		}
		*into = f
	}
}

// whole reads a whole number within bounds.
func whole[T int | int64](into *T, low, high float64) func(*node) {
	return func(n *node) {
		var f float64
		number(&f, low, high)(n)
		if f != math.Trunc(f) {
			panic(n.Invalid("a whole number is wanted here, not %s", n.text))
		}
		*into = T(f)
	}
}

func boolean(into *bool) func(*node) {
	return func(n *node) {
		if n.kind != expr.KindBool {
			panic(n.Invalid("true or false is wanted here, not %s", describe(n)))
		}
		*into = n.text == "true"
	}
}

// duration reads seconds as a number, or a text such as "5m" or "500 ms".
func duration(into *time.Duration, high time.Duration) func(*node) {
	return func(n *node) {
		d, ok := plan.ParseDuration(n.text)
		if (n.kind != expr.KindNumber && n.kind != expr.KindString) || !ok {
			panic(n.Invalid("a duration is wanted here (seconds, or a text such as \"5m\"), not %s", describe(n)))
		}
		if d < 0 || d > high {
			panic(n.Invalid("a duration of %s is not within 0 and %v", n.text, high))
		}
		*into = d
	}
}

// describe names a value in an error.
func describe(n *node) string {
	switch n.kind {
	case expr.KindString:
		return strconv.Quote(n.text)
	case expr.KindNumber, expr.KindBool:
		return n.text
	}
	return n.kind.String()
}
