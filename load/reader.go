package load

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
)

// reader turns the tree of an Artillery script into a plan.
type reader struct {
	source Source
	plan   *Plan
	testID string
	mode   string
	slots  map[string]int
	// defined and used say which variables something fills, and where each is
	// first used.
	defined map[string]bool
	used    map[string]*node
	names   map[string]int
	// captured are the slots that captures have filled so far.
	captured []int
	// The following are the defaults of what comes after config.
	cookies    []headerField
	lenient    bool // captures may fail
	expect200  bool
	jitter     time.Duration
	jitterPart float64

	digest  [sha256.Size]byte // of the source
	uploads int               // bytes of files read for forms
	nested  int               // parallels around the present step
}

// ParsePlan reads a plan of the given source text; name is for errors.
func (s Source) ParsePlan(name string, src []byte) (*Plan, error) {
	if looksLikeXML(src) {
		return s.parseJMX(name, src)
	}
	root, err := parseTree(name, src)
	if err != nil {
		return nil, err
	}
	r := &reader{
		source: s, plan: &Plan{Name: name}, testID: fmt.Sprintf("t%016x", rand.Uint64()),
		slots: map[string]int{}, defined: map[string]bool{}, used: map[string]*node{}, names: map[string]int{},
		digest: sha256.Sum256(src),
	}
	if err := r.script(root); err != nil {
		return nil, err
	}
	return r.plan, nil
}

func (r *reader) script(root *node) error {
	later := func(*node) error { return nil } // after config, wherever they stand
	known := map[string]func(*node) error{
		"config": r.config, "before": later, "after": later, "scenarios": later,
	}
	for _, f := range root.fields {
		// A place for anchors is the one thing that may stand beside them.
		if f.value.anchored && known[f.name] == nil {
			known[f.name] = later
		}
	}
	if err := r.fields(root, "the plan", known, nil); err != nil {
		return err
	}
	scenarios := root.get("scenarios")
	if scenarios == nil {
		return root.invalid("the plan has no scenarios")
	}
	if r.source.Environment != "" && root.get("config") == nil {
		return root.invalid("the plan has no environments, so none is named %q", r.source.Environment)
	}
	if r.plan.HTTP.Timeout == 0 {
		r.plan.HTTP.Timeout = defaultTimeout
	}
	if len(r.plan.Phases) == 0 {
		// Artillery sends one virtual user for a plan without phases.
		r.plan.Phases = []Phase{{Duration: time.Second, Count: 1, HasCount: true}}
	}
	// What before captures is defined for all that follows.
	if err := r.once(root.get("before"), &r.plan.before); err != nil {
		return err
	}
	r.plan.carried, r.captured = r.captured, nil
	if err := r.scenarios(scenarios); err != nil {
		return err
	}
	if err := r.once(root.get("after"), &r.plan.after); err != nil {
		return err
	}
	return r.finish()
}

// once reads the flow of before or after. Its requests are not the run's, so
// their names are not the report's.
func (r *reader) once(n *node, into *[]step) error {
	if n == nil || n.kind == kindNull {
		return nil
	}
	names := r.names
	r.names = map[string]int{}
	defer func() { r.names = names }()
	return r.fields(n, "a flow beside the run", map[string]func(*node) error{
		"flow": func(n *node) (err error) {
			*into, err = r.flow(n)
			return err
		},
		"name":   func(*node) error { return nil },
		"engine": oneOf(new(string), "http"),
	}, hooks)
}

// finish checks what only the whole plan can tell.
func (r *reader) finish() error {
	var first *node
	name := ""
	for v, at := range r.used {
		if !r.defined[v] && (first == nil || at.line < first.line || at.line == first.line && (at.col < first.col || at.col == first.col && v < name)) {
			first, name = at, v
		}
	}
	if first != nil {
		return first.invalid("{{ %s }}: nothing in the plan defines %s", name, name)
	}
	r.plan.slots = len(r.slots)
	r.plan.names = make([]string, len(r.names))
	for n, i := range r.names {
		r.plan.names[i] = n
	}
	return nil
}

// slot gives the place of a variable used at n.
func (r *reader) slot(name string, n *node) int {
	if _, ok := r.used[name]; !ok && n != nil {
		r.used[name] = n
	}
	i, ok := r.slots[name]
	if !ok {
		i = len(r.slots)
		r.slots[name] = i
	}
	return i
}

// define gives the place of a variable that something fills.
func (r *reader) define(name string) int {
	r.defined[name] = true
	return r.slot(name, nil)
}

// nameIndex gives the place of a request's name in the report. Beyond
// maxNames, further names share the last.
func (r *reader) nameIndex(name string) int {
	if i, ok := r.names[name]; ok {
		return i
	}
	if len(r.names) >= maxNames-1 {
		name = "(all others)"
		if i, ok := r.names[name]; ok {
			return i
		}
	}
	r.names[name] = len(r.names)
	return len(r.names) - 1
}

// fields reads a mapping: each key by its function; a key among refused is
// not supported, for the reason given; any other key is a mistake.
func (r *reader) fields(n *node, what string, known map[string]func(*node) error, refused map[string]string) error {
	if n.kind != kindMap {
		return n.invalid("%s is a mapping, not %s", what, n.kind)
	}
	for _, f := range n.fields {
		if read, ok := known[f.name]; ok {
			if err := read(f.value); err != nil {
				return err
			}
			continue
		}
		if why, ok := refused[f.name]; ok {
			return place(whittle.Unsupported, n.file, f.line, f.col, "%s is not supported: %s%s", f.name, why, called(f.value, why))
		}
		names := make([]string, 0, len(known))
		for k := range known {
			names = append(names, k)
		}
		slices.Sort(names)
		return place(whittle.Invalid, n.file, f.line, f.col, "%s is not known in %s; known are %s", f.name, what, strings.Join(names, ", "))
	}
	return nil
}

// called names the functions that a hook calls, so that whoever reads the
// error knows what to look for.
func called(n *node, why string) string {
	if why != javaScript {
		return ""
	}
	names := []string{n.text}
	for _, item := range n.items {
		names = append(names, item.text)
	}
	if text := strings.Trim(strings.Join(names, ", "), ", "); text != "" {
		return " (" + text[:min(len(text), 100)] + ")"
	}
	return ""
}

// str reads a text; numbers and booleans count as theirs.
func str(into *string) func(*node) error {
	return func(n *node) error {
		if n.kind != kindString && n.kind != kindNumber && n.kind != kindBool {
			return n.invalid("a text is wanted here, not %s", n.kind)
		}
		*into = n.text
		return nil
	}
}

// number reads a number within bounds, also where it is written as a text.
func number(into *float64, low, high float64) func(*node) error {
	return func(n *node) error {
		f, err := strconv.ParseFloat(strings.TrimSpace(n.text), 64)
		if (n.kind != kindNumber && n.kind != kindString) || err != nil || math.IsNaN(f) {
			return n.invalid("a number is wanted here, not %s", describe(n))
		}
		if f < low || f > high {
			return n.invalid("%s is not within %s and %s", n.text, formatNumber(low), formatNumber(high))
		}
		*into = f
		return nil
	}
}

// whole reads a whole number within bounds.
func whole[T int | int64](into *T, low, high float64) func(*node) error {
	return func(n *node) error {
		var f float64
		if err := number(&f, low, high)(n); err != nil {
			return err
		}
		if f != math.Trunc(f) {
			return n.invalid("a whole number is wanted here, not %s", n.text)
		}
		*into = T(f)
		return nil
	}
}

func boolean(into *bool) func(*node) error {
	return func(n *node) error {
		if n.kind != kindBool {
			return n.invalid("true or false is wanted here, not %s", describe(n))
		}
		*into = n.text == "true"
		return nil
	}
}

var units = map[string]time.Duration{
	"": time.Second, "ms": time.Millisecond, "msec": time.Millisecond, "millisecond": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
}

// duration reads seconds as a number, or a text such as "5m" or "500 ms".
func duration(into *time.Duration, high time.Duration) func(*node) error {
	return func(n *node) error {
		text := strings.ToLower(strings.TrimSpace(n.text))
		digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
		unit := strings.TrimSpace(text[len(digits):])
		scale, ok := units[unit]
		if !ok {
			scale, ok = units[strings.TrimSuffix(unit, "s")]
		}
		f, err := strconv.ParseFloat(digits, 64)
		if (n.kind != kindNumber && n.kind != kindString) || !ok || err != nil {
			return n.invalid("a duration is wanted here (seconds, or a text such as \"5m\"), not %s", describe(n))
		}
		if !(f >= 0) || f*float64(scale) > float64(high) {
			return n.invalid("a duration of %s is not within 0 and %v", n.text, high)
		}
		*into = time.Duration(math.Round(f * float64(scale)))
		return nil
	}
}

// describe names a value in an error.
func describe(n *node) string {
	switch n.kind {
	case kindString:
		return strconv.Quote(n.text)
	case kindNumber, kindBool:
		return n.text
	}
	return n.kind.String()
}
