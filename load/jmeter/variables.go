package jmeter

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// further are the variables of one user whose names are known only during the run.
type further map[string]string

// furtherKey is where a user keeps them.
type furtherKey struct{}

func furtherOf(s *expr.Scope) *further { return userState[further](s.User, furtherKey{}) }

// value reads a variable by its name, whatever filled it. Parsing is over by then, so
// that nothing changes the reader's maps.
func (j *reader) value(s *expr.Scope, name string) (string, bool) {
	if name == lastSampleOK {
		return strconv.FormatBool(s.User == nil || !s.User.Failed()), true
	}
	if slot, ok := j.Slot(name); ok && slot < len(s.Values) && s.Values[slot].JSON != "" {
		return s.Values[slot].Text, true
	}
	if s.User != nil {
		if text, ok := (*furtherOf(s))[name]; ok {
			return text, true
		}
	}
	text, ok := j.constants[name]
	return text, ok
}

// lastSampleOK is the variable that says whether a user's last sample succeeded.
const lastSampleOK = "JMeterThread.last_sample_ok"

// ownName is what the names of variables begin with that are whittle's own.
const ownName = "whittle "

// allVariables lists a user's variables as JMeter's Debug Sampler shows them.
func (j *reader) allVariables(s *expr.Scope) string {
	names := slices.Concat(slices.Collect(maps.Keys(j.constants)), j.SlotNames(), slices.Collect(maps.Keys(*furtherOf(s))), []string{lastSampleOK})
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("JMeterVariables:\n")
	for _, name := range slices.Compact(names) {
		if strings.HasPrefix(name, ownName) {
			continue
		}
		if text, ok := j.value(s, name); ok && b.Len() < expr.MaxBody {
			b.WriteString(name + "=" + text + "\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}

// maxFurther bounds the variables of one user that have no slot.
const maxFurther = 100_000

// assign sets a variable by its name.
func (j *reader) assign(s *expr.Scope, name, text string) {
	text = text[:min(len(text), expr.MaxCaptured)]
	if slot, ok := j.Slot(name); ok && slot < len(s.Values) {
		s.Values[slot] = expr.TextValue(strings.Clone(text))
		return
	}
	all := furtherOf(s)
	if *all == nil {
		*all = further{}
	}
	if len(*all) < maxFurther {
		(*all)[name] = strings.Clone(text)
	}
}

// remove makes a variable one that nothing has filled.
func (j *reader) remove(s *expr.Scope, name string) {
	if slot, ok := j.Slot(name); ok && slot < len(s.Values) {
		s.Values[slot] = expr.Value{}
	}
	if s.User != nil {
		delete(*furtherOf(s), name)
	}
}

// assignAll sets name_1, name_2 … and name_matchNr.
func (j *reader) assignAll(s *expr.Scope, name string, texts []string) {
	for i, text := range texts {
		j.assign(s, listed(name, i+1), text)
	}
	j.assign(s, name+matchNumber, strconv.Itoa(len(texts)))
}

// varies reports whether something fills a variable during the run.
func (j *reader) varies(name string) bool { return j.scripted || j.named(name) }

// named reports whether something that says so fills a variable during the run.
func (j *reader) named(name string) bool {
	if j.runtime[name] {
		return true
	}
	for i := range name {
		if name[i] == '_' && j.listed[name[:i]] {
			return true
		}
	}
	return false
}

// expand writes the variables of a text that was made during the run.
func (j *reader) expand(s *expr.Scope, text string) string {
	return replaced(text, expr.MaxCaptured, func(inner, reference string) string {
		if value, ok := j.value(s, inner); ok {
			return value
		}
		return reference
	})
}

// properties are those that a plan sets during the run.
type properties struct {
	mu  sync.RWMutex
	set map[string]string // guarded by mu
}

type propertiesKey struct{}

func propertiesOf(u expr.User) *properties {
	return u.State(expr.StateOfRun, propertiesKey{}, func() any { return &properties{set: map[string]string{}} }).(*properties)
}

// maxProperties bounds the properties that a plan sets.
const maxProperties = 10_000

// setProperty sets a property for all users, and returns what it was.
func (j *reader) setProperty(s *expr.Scope, name, text string) (before string) {
	before, _ = j.propertyValue(s, name)
	p := propertiesOf(s.User)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.set) < maxProperties {
		p.set[name] = text
	}
	return before
}

// propertyValue reads a property: what the plan has set, or else what the run was
// given.
func (j *reader) propertyValue(s *expr.Scope, name string) (string, bool) {
	if s.User != nil {
		p := propertiesOf(s.User)
		p.mu.RLock()
		text, ok := p.set[name]
		p.mu.RUnlock()
		if ok {
			return text, true
		}
	}
	text, ok := j.Source.Properties[name]
	return text, ok
}

// userVariables reads the test plan's variables and those of every enabled
// Arguments element: JMeter sets them all when the test starts, element by element, so
// that each sees those of the elements before it.
func (j *reader) userVariables(root *element) {
	if t := root.prop("TestPlan.user_defined_variables"); t != nil {
		j.arguments(t)
	}
	j.eachElement(root, func(e *element) {
		if e.name == "Arguments" {
			j.refuseOthers(e, "Arguments.arguments")
			j.arguments(e.tag)
		}
	})
}

// eachElement calls do with an element and all below it.
func (j *reader) eachElement(e *element, do func(*element)) {
	do(e)
	for _, c := range e.below {
		j.eachElement(c, do)
	}
}

func (j *reader) arguments(t *tag) {
	list := t.prop("Arguments.arguments")
	if list == nil {
		return
	}
	j.atStart = true
	defer func() { j.atStart = false }()
	type assignment struct {
		name  string
		value expr.Template
	}
	var all []assignment
	for _, a := range list.children {
		if name := strings.TrimSpace(a.value("Argument.name")); name != "" {
			all = append(all, assignment{name, j.text(a, "Argument.value")})
		}
	}
	for _, a := range all {
		fixed, ok := a.value.Constant()
		if ok {
			j.constants[a.name] = fixed
		}
		if ok && !j.varies(a.name) {
			continue
		}
		// It differs from run to run, or something changes it during one.
		if !ok {
			delete(j.constants, a.name)
		}
		j.runtime[a.name] = true
		j.setup = append(j.setup, plan.Assignment{Slot: j.Define(a.name), Value: a.value})
	}
}

// assigned are the ways in which scripts use their variables that say which they are, of
// which put fills one.
var assigned = regexp.MustCompile(`\bvars\s*\.\s*(put|putObject|get|getObject|remove|containsKey)\s*\(\s*(?:"([^"$\\]*)"|'([^'$\\]*)')\s*[,)]`)

var usesVars = regexp.MustCompile(`\bvars\b|getVariables`)

// findAssigned lists the variables that a script fills, where its text says so: else it
// may fill any.
func (j *reader) findAssigned(e *element) {
	for _, c := range e.children {
		switch c.property() {
		case "filename", "BeanShellSampler.filename", "BeanShellAssertion.filename":
			j.scripted = j.scripted || strings.TrimSpace(c.text) != ""
		}
		all := assigned.FindAllStringSubmatch(c.text, -1)
		if len(all) < len(usesVars.FindAllString(c.text, -1)) {
			j.scripted = true
		}
		for _, m := range all {
			if strings.HasPrefix(m[1], "put") || m[1] == "remove" {
				j.runtime[m[2]+m[3]] = true
			}
		}
	}
}

// findRuntime lists the variables that something fills during the run.
func (j *reader) findRuntime(e *element) {
	add := func(list, sep string) {
		for name := range strings.SplitSeq(list, sep) {
			if name = strings.TrimSpace(name); name != "" {
				j.runtime[name] = true
			}
		}
	}
	// extracted are the variables whose names begin like an extractor's.
	extracted := func(names, sep string) {
		add(names, sep)
		for name := range strings.SplitSeq(names, sep) {
			j.listed[strings.TrimSpace(name)] = true
		}
	}
	switch e.name {
	case "CSVDataSet":
		add(e.value("variableNames"), ",")
	case "CounterConfig":
		j.runtime[strings.TrimSpace(e.value("CounterConfig.name"))] = true // also the name of nothing
	case "RegexExtractor", "BoundaryExtractor", "HtmlExtractor":
		extracted(e.value(e.name+".refname"), ",")
	case "JSONPostProcessor":
		extracted(e.value("JSONPostProcessor.referenceNames"), ";")
	case "ForeachController":
		add(e.value("ForeachController.returnVal"), ",")
	default:
		if isScript(e.name) {
			j.findAssigned(e)
		}
	}
	for _, c := range e.below {
		j.findRuntime(c)
	}
}

// userState gives what one user keeps under a key.
func userState[T any](u expr.User, key any) *T {
	return u.State(expr.StateOfUser, key, func() any { return new(T) }).(*T)
}

// count adds one to a number and gives it: to the user's own, or to that of all
// users.
func count(u expr.User, key any, own bool) int64 {
	if own {
		return countForUser(u, key)
	}
	return countAll(u, key)
}

func countForUser(u expr.User, key any) int64 {
	n := userState[int64](u, key)
	*n++
	return *n
}

// countAll counts in turns where several processes have a part of the run each: none
// gives a number that another one does.
func countAll(u expr.User, key any) int64 {
	n := u.State(expr.StateOfRun, key, func() any { return new(atomic.Int64) }).(*atomic.Int64).Add(1)
	index, of := u.Part()
	return index + of*(n-1) + 1
}

// clock is that of the scope's run; outside one, the machine's.
func clock(s *expr.Scope) time.Time {
	if s.User == nil {
		return time.Now()
	}
	return s.User.Now()
}
