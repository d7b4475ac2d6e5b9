// Package jmeter reads JMeter's test plans. What their timers, controllers and
// data sets do has no counterpart in Artillery's flows, and is here too, as
// actions of the plan.
package jmeter

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

// jmxTimeout bounds a request whose sampler has no response timeout; JMeter
// would wait for ever.
const jmxTimeout = time.Minute

// reader turns a JMeter test plan into a plan. What it reads is the
// ordinary HTTP plan: docs/load-jmeter.md lists its elements.
type reader struct {
	*plan.Builder
	raw []byte // the source
	// constants are the variables whose value is known before the run; runtime
	// are those that something fills during it.
	constants      map[string]string
	runtime        map[string]bool
	listed         map[string]bool                 // what the names of lists begin with: name_1, name_2 …
	scripted       bool                            // a script may fill any variable
	labels         map[*plan.Request]expr.Template // what samplers are called, without the transactions around them
	asksLast       bool                            // a script asks for the last response
	atStart        bool                            // what is compiled is looked at when the test starts: variables have their first values
	setsProperties bool                            // the plan sets properties during the run
	uploaded       int                             // bytes of the files that are sent
	tree           *tag                            // the plan's hashTree
	top            []*element                      // what the plan itself has
	early          map[*element]bool               // what is looked at before any script runs: it is right below the plan or a group
	loop           *repeat                         // the loop controller that is being read
	onError        plan.OnError                    // of the group that is being read
	perLoops       map[*element]plan.Action
	sends          map[*element]*plan.Request // of HTTP samplers
	odd            bool                       // a request's URL is sent otherwise than it is written, or may be
	looksAtURL     []string                   // what looks at a URL
	eithers        map[*plan.Request]*either
	homeless       map[*plan.Request]*element // those without a server
	runtimeOf      *script.Runtime            // of all scripts; nil: none has run
	setup          []plan.Assignment          // of user defined variables that are no constants
	ignored        []string                   // listeners and the like, by title
	files          map[string][][]expr.Value
}

// propertySetter finds what sets a property in a script.
var propertySetter = regexp.MustCompile(`setProperty|\bprops\s*\.\s*put`)

// lastAsked finds what asks for the last response in a script.
var lastAsked = regexp.MustCompile(`\bprev\b|[pP]reviousResult`)

// findUses notes what elements use, for which others have something to keep.
func (j *reader) findUses(e *element, t *tag) {
	if isScript(e.name) {
		j.asksLast = j.asksLast || lastAsked.MatchString(t.text)
		j.setsProperties = j.setsProperties || propertySetter.MatchString(t.text)
	}
	if strings.Contains(t.text, "${") {
		j.asksLast = j.asksLast || scriptCalled.MatchString(t.text) && lastAsked.MatchString(t.text)
		j.setsProperties = j.setsProperties || strings.Contains(t.text, "{__setProperty") || scriptCalled.MatchString(t.text) && propertySetter.MatchString(t.text)
	}
	if strings.Contains(t.text, "__jm__") {
		panic(t.at.Errorf(whittle.Unsupported, "%s: the number of a controller's round, ${__jm__…}, is not supported: use a Counter", e.title()))
	}
	for _, c := range t.children {
		j.findUses(e, c)
	}
}

// scriptCalled finds a function that is a script.
var scriptCalled = regexp.MustCompile(`\{__(groovy|BeanShell|javaScript)\(`)

// Parse reads a JMeter test plan; name is for errors, which carry line and
// column: whittle.Invalid for a mistake, whittle.Unsupported for an element that
// docs/load-jmeter.md does not list.
func Parse(name string, src []byte, s plan.Source) (p *plan.Plan, err error) {
	defer whittle.Caught(&err)
	if len(src) > MaxBytes {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "%s: a plan has at most %d bytes, this one %d", name, MaxBytes, len(src))
	}
	if flag := s.GivenForArtillery(); flag != "" {
		return nil, whittle.Errorf(whittle.Invalid, "%s is of Artillery plans, and %s is one of JMeter", flag, name).
			WithHint("a JMeter plan has properties: --property NAME=VALUE")
	}
	j := &reader{
		Builder: plan.NewBuilder(s, name), raw: src, constants: map[string]string{}, runtime: map[string]bool{}, listed: map[string]bool{},
		files: map[string][][]expr.Value{}, perLoops: map[*element]plan.Action{}, early: map[*element]bool{},
		sends: map[*element]*plan.Request{}, eithers: map[*plan.Request]*either{}, homeless: map[*plan.Request]*element{},
		labels: map[*plan.Request]expr.Template{},
	}
	j.Plan.HTTP.Timeout, j.Plan.HTTP.Insecure = jmxTimeout, true // JMeter accepts any certificate
	j.document(parseXML(name, src))
	return j.Plan, nil
}

func (j *reader) document(root *tag) {
	if root.name != "jmeterTestPlan" {
		panic(root.at.Invalid("a JMeter plan begins with <jmeterTestPlan>, not <%s>", root.name))
	}
	if len(root.children) == 0 || root.children[0].name != "hashTree" {
		panic(root.at.Invalid("a JMeter plan has a hashTree"))
	}
	j.tree = root.children[0]
	top := testElements(j.tree)
	i := slices.IndexFunc(top, func(e *element) bool { return e.name == "TestPlan" })
	if i < 0 {
		panic(root.at.Invalid("a JMeter plan has a TestPlan"))
	}
	for _, e := range top {
		if e.name != "TestPlan" && e.name != "WorkBench" {
			panic(e.at.Errorf(whittle.Unsupported, "%s next to the TestPlan is not supported", e.title()))
		}
	}
	j.testPlan(top[i])
	j.finish(top[i])
}

func (j *reader) testPlan(e *element) {
	j.refuseOthers(e, "TestPlan.functional_mode", "TestPlan.serialize_threadgroups", "TestPlan.tearDown_on_shutdown", "TestPlan.user_defined_variables",
		"TestPlan.user_define_classpath", "TestPlan.thread_groups")
	if jars := strings.TrimSpace(e.value("TestPlan.user_define_classpath")); jars != "" {
		j.Plan.Notes = append(j.Plan.Notes, "the libraries of the class path are left out: "+jars)
	}
	j.Plan.Serial = e.is("TestPlan.serialize_threadgroups")
	j.includeModules(e, 0)
	j.eachElement(e, func(e *element) { j.findUses(e, e.tag) })
	j.findRuntime(e)
	for _, m := range functionVariables.FindAllSubmatch(j.raw, -1) {
		j.runtime[string(m[1])] = true
	}
	for _, m := range propertyVariables.FindAllSubmatch(j.raw, -1) {
		j.runtime[string(m[1])] = true
	}
	j.userVariables(e)
	for _, c := range e.below {
		j.early[c] = true
		for _, inner := range c.below {
			j.early[inner] = isGroup(c.name)
		}
	}
	j.findColumns(e)
	for _, c := range e.below {
		if !isGroup(c.name) {
			j.top = append(j.top, c)
		}
	}
	env := elementScope{}.extended(j, j.top)
	for _, c := range e.below {
		j.planChild(c, env)
	}
	if j.setsProperties {
		j.Plan.Undivided = append(j.Plan.Undivided, "the properties that it sets for all users")
	}
	j.keepLast()
}

// planChild reads one element right below the test plan.
func (j *reader) planChild(e *element, env elementScope) {
	switch e.name {
	case "ThreadGroup", "SetupThreadGroup", "PostThreadGroup":
		j.threadGroup(e, env)
	case steppingGroup, ultimateGroup, concurrencyGroup:
		j.pluginGroup(e, env)
	case "TestFragmentController":
		// Its modules are read where they are used.
	default:
		if !j.readByScope(e) {
			panic(j.refuse(e))
		}
	}
}

// MaxBytes bounds a plan.
const MaxBytes = 32 << 20

// finish checks the whole plan and chooses its target.
func (j *reader) finish(e *element) {
	if j.RequestCount() == 0 {
		panic(e.at.Invalid("no enabled thread group sends a request"))
	}
	if len(j.Plan.Groups) > maxGroups {
		panic(e.at.Errorf(whittle.ResourceExhausted, "more than %d thread groups", maxGroups))
	}
	users := 0
	for i := range j.Plan.Groups {
		users += j.Plan.Groups[i].Users
	}
	if users > plan.MaxClosed {
		panic(e.at.Errorf(whittle.ResourceExhausted, "%d users in all; at most %d are supported", users, plan.MaxClosed))
	}
	j.chooseTarget()
	if len(j.ignored) > 0 {
		j.Plan.Notes = append(j.Plan.Notes, fmt.Sprintf("left out, as they send nothing: %s", strings.Join(j.ignored, ", ")))
	}
	if j.odd && len(j.looksAtURL) > 0 {
		j.note("what looks at URLs sees them as they are sent, letters that are not ASCII encoded, without a fragment and empty segments: " + strings.Join(j.looksAtURL, ", "))
	}
	j.Finish()
}

// maxGroups bounds the thread groups of a plan: each has histograms of its own.
const maxGroups = 200

// chooseTarget makes the first request's server the plan's target, so that
// another can stand in for it; requests to further servers stay with them.
func (j *reader) chooseTarget() {
	all := j.Plan.Requests()
	originOf := func(q *plan.Request) string {
		if e := j.eithers[q]; e != nil {
			return e.origin
		}
		return q.Origin
	}
	for _, q := range all {
		if at := originOf(q); at != "" && at != noOrigin {
			j.Plan.Target = at
			break
		}
	}
	if j.Plan.Target == "" && slices.ContainsFunc(all, func(q *plan.Request) bool { return q.Origin == noOrigin }) {
		j.Plan.Target = noOrigin // so that the run says what is missing
	}
	// A request without a server goes to the target where the plan knows of no server at all:
	// else JMeter does not send it.
	if j.Plan.Target != "" || slices.ContainsFunc(all, func(q *plan.Request) bool { return q.Address != nil }) {
		for _, q := range all {
			if e := j.homeless[q]; e != nil {
				j.notSent(e, q, "", "is no server: it and its defaults have none")
			}
		}
	}
	for _, q := range all {
		if at := originOf(q); at != j.Plan.Target {
			continue
		}
		q.Origin = ""
		if e := j.eithers[q]; e != nil {
			e.relative = true
		}
	}
}

// refuse says why an element does not run.
func (j *reader) refuse(e *element) error {
	if hint := inPlaceOf[e.name]; hint != "" {
		return e.at.Errorf(whittle.Unsupported, "%s is not supported: %s", e.title(), hint)
	}
	for _, script := range []string{"JSR223", "BeanShell", "BSF", "Groovy"} {
		if strings.HasPrefix(e.name, script) {
			return e.at.Errorf(whittle.Unsupported, "%s is not supported: it is a script", e.title())
		}
	}
	return e.at.Errorf(whittle.Unsupported, "%s is not supported", e.title())
}

// inPlaceOf says what to use in place of an element.
var inPlaceOf = map[string]string{
	"XPathAssertion": "use a Response Assertion", "XPath2Assertion": "use a Response Assertion",
	"XPathExtractor": "use a CSS Selector or a Regular Expression Extractor", "XPath2Extractor": "use a CSS Selector or a Regular Expression Extractor",
	"CacheManager": "take it out, and every page is asked for, as by users who come anew", "OpenModelThreadGroup": "use a Thread Group, and send it at a --rate",
	"SizeAssertion": "use a Response Assertion", "JMESPathExtractor": "use a JSON Extractor", "JMESPathAssertion": "use a JSON Assertion",
	"CriticalSectionController": "use a Thread Group of one user", "RandomOrderController": "use a Random Controller",
	"InterleaveControl": "use a Switch Controller with a counter", "SyncTimer": "use a Concurrency Thread Group, or take it out",
	"JSR223Timer": "use a Constant Timer of ${__groovy(…)}", "BeanShellTimer": "use a Constant Timer of ${__groovy(…)}",
	"UserParameters": "use a CSV Data Set", "RandomVariableConfig": "use ${__Random(…)}",
	"IncludeController":                            "put the fragment into this plan, and use a Module Controller",
	"kg.apc.jmeter.timers.VariableThroughputTimer": "use a Concurrency Thread Group, or send at a --rate",
}

// universal properties have no bearing on what is sent.
var universal = []string{
	"TestPlan.comments", "TestElement.name", "TestElement.gui_class", "TestElement.test_class", "TestElement.enabled",
}

// notDone are the properties of JMeter's own elements that ask for something whittle does not do.
// JMeter ignores all other properties that are read nowhere here.
var notDone = []string{
	"HTTPSampler.ipSource", "ConstantTimer.modifier",
}

// refuseOthers refuses properties other than the named ones, unless they are empty or
// false: what a plan asks for is not left out in silence. What JMeter itself knows
// nothing of is left out with a note, as it is there.
func (j *reader) refuseOthers(e *element, names ...string) {
	for _, c := range e.children {
		name := c.property()
		if slices.Contains(names, name) || slices.Contains(universal, name) {
			continue
		}
		text := strings.TrimSpace(c.text)
		if len(c.children) == 0 && (text == "" || text == "false") {
			continue
		}
		if strings.Contains(e.name, ".") || slices.Contains(notDone, name) {
			panic(c.at.Errorf(whittle.Unsupported, "%s: the property %s is not supported", e.title(), name))
		}
		j.note(fmt.Sprintf("line %d: %s: JMeter has no property %s, and it is left out", c.at.Line, e.title(), name))
	}
}

// note adds to the report's notes, once.
func (j *reader) note(text string) {
	if !slices.Contains(j.Plan.Notes, text) {
		j.Plan.Notes = append(j.Plan.Notes, text)
	}
}

// noteOf adds what is to be said of an element.
func (j *reader) noteOf(e *element, format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(said, ":") {
		said = " " + said
	}
	j.note(fmt.Sprintf("line %d: %s%s", e.at.Line, e.title(), said))
}

// propertied is what has properties: an element, or a tag in it.
type propertied interface {
	where(name string) plan.Position
	value(name string) string
}

// text is a property's text with its references.
func (j *reader) text(of propertied, name string) expr.Template {
	return j.compile(of.where(name), of.value(name), expr.AsText)
}

// trimmed is text without the spaces around it.
func (j *reader) trimmed(of propertied, name string) expr.Template {
	return j.compile(of.where(name), strings.TrimSpace(of.value(name)), expr.AsText)
}

// fixed returns a property's text, whose variables must be known before the run.
func (j *reader) fixed(t *tag, name string) string {
	p := t.prop(name)
	if p == nil {
		return ""
	}
	return j.fixedOf(p, name)
}

// fixedOf is the text of a property.
func (j *reader) fixedOf(p *tag, name string) string {
	tpl := j.compile(p.at, p.content(), expr.AsText)
	text, ok := tpl.Constant()
	if !ok {
		panic(p.at.Errorf(whittle.Unsupported, "%s: a value that varies during the run is not supported here: %s", name, p.text))
	}
	return strings.TrimSpace(text)
}

// number returns a property as a number, or other where it is absent or empty.
func (j *reader) number(t *tag, name string, low, high, other float64) float64 {
	text := j.fixed(t, name)
	if text == "" {
		return other
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(f):
		panic(t.where(name).Invalid("%s: a number is wanted, not %q", name, text))
	case f < low || f > high:
		panic(t.where(name).Invalid("%s: %s is not within %s and %s", name, text, units.Plain(low), units.Plain(high)))
	}
	return f
}

func (j *reader) whole(t *tag, name string, low, high, other float64) int64 {
	f := j.number(t, name, low, high, other)
	if f != math.Trunc(f) {
		panic(t.where(name).Invalid("%s: a whole number is wanted, not %s", name, t.value(name)))
	}
	return int64(f)
}

// seconds returns a property in seconds as a time.
func (j *reader) seconds(t *tag, name string) time.Duration {
	return time.Duration(j.number(t, name, 0, plan.MaxDuration.Seconds(), 0) * float64(time.Second))
}
