package load

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
)

// jmxTimeout bounds a request whose sampler has no response timeout; JMeter
// would wait for ever.
const jmxTimeout = time.Minute

// jmxReader turns a JMeter test plan into a plan. What it reads is the
// ordinary HTTP plan: docs/load-jmeter.md lists its elements.
type jmxReader struct {
	*reader
	raw []byte // the source
	// constants are the variables whose value is known before the run; runtime
	// are those that something fills during it.
	constants map[string]string
	runtime   map[string]bool
	setup     []assignment // of user defined variables that are no constants
	ignored   []string     // listeners and the like, by title
	files     map[string][][]value
	title     string // of the test plan
}

// looksLikeXML tells a JMeter plan from an Artillery script by its beginning.
func looksLikeXML(src []byte) bool {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	return bytes.HasPrefix(bytes.TrimLeft(src, " \t\r\n"), []byte("<"))
}

// parseJMX reads a JMeter plan.
func (s Source) parseJMX(name string, src []byte) (*Plan, error) {
	if len(src) > maxPlanBytes {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "%s: a plan has at most %d bytes, this one %d", name, maxPlanBytes, len(src))
	}
	if s.Environment != "" {
		return nil, whittle.Errorf(whittle.Invalid, "%s: a JMeter plan has no environments; it has properties", name)
	}
	root, err := parseXML(name, src)
	if err != nil {
		return nil, err
	}
	j := &jmxReader{
		reader: emptyReader(s, name), raw: src, constants: map[string]string{}, runtime: map[string]bool{},
		files: map[string][][]value{},
	}
	j.plan.HTTP.Timeout = jmxTimeout
	if err := j.document(root); err != nil {
		return nil, err
	}
	return j.plan, nil
}

func (j *jmxReader) document(root *tag) error {
	if root.name != "jmeterTestPlan" {
		return root.at.invalid("a JMeter plan begins with <jmeterTestPlan>, not <%s>", root.name)
	}
	if len(root.children) == 0 || root.children[0].name != "hashTree" {
		return root.at.invalid("a JMeter plan has a hashTree")
	}
	top, err := testElements(root.children[0])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(top, func(e *element) bool { return e.name == "TestPlan" })
	if i < 0 {
		return root.at.invalid("a JMeter plan has a TestPlan")
	}
	for _, e := range top {
		if e.name != "TestPlan" && e.name != "WorkBench" {
			return e.at.errorf(whittle.Unsupported, "%s beside the TestPlan is not supported", e.title())
		}
	}
	if err := j.testPlan(top[i]); err != nil {
		return err
	}
	return j.conclude(top[i])
}

func (j *jmxReader) testPlan(e *element) error {
	j.title = e.label
	err := j.only(e, "TestPlan.functional_mode", "TestPlan.serialize_threadgroups", "TestPlan.tearDown_on_shutdown", "TestPlan.user_defined_variables")
	if err != nil {
		return err
	}
	j.plan.serial = e.is("TestPlan.serialize_threadgroups")
	j.findRuntime(e)
	for _, m := range functionVariables.FindAllSubmatch(j.raw, -1) {
		j.runtime[string(m[2])] = true
	}
	if err := j.userVariables(e); err != nil {
		return err
	}
	env, err := surroundings{}.with(j, e.below)
	if err != nil {
		return err
	}
	for _, c := range e.below {
		if err := j.planChild(c, env); err != nil {
			return err
		}
	}
	return nil
}

// planChild reads one element right below the test plan.
func (j *jmxReader) planChild(e *element, env surroundings) error {
	switch e.name {
	case "ThreadGroup":
		return j.threadGroup(e, env)
	case "OpenModelThreadGroup":
		return j.openGroup(e, env)
	case "TestFragmentController":
		j.ignored = append(j.ignored, e.title())
		return nil
	case "SetupThreadGroup", "PostThreadGroup":
		return e.at.errorf(whittle.Unsupported, "%s is not supported: what users before and after the run do is left to scripts", e.title())
	}
	if j.surrounds(e) {
		return nil
	}
	return j.refuse(e)
}

// conclude checks the whole plan and chooses its target.
func (j *jmxReader) conclude(e *element) error {
	if len(j.names) == 0 {
		return e.at.invalid("no enabled thread group sends a request")
	}
	if len(j.plan.groups) > 0 && len(j.plan.Phases) > 0 || j.plan.arriving != nil && len(j.plan.scenarios) > 1 {
		return e.at.errorf(whittle.Unsupported, "an OpenModelThreadGroup beside other thread groups is not supported: a run is of one model")
	}
	if len(j.plan.groups) > maxGroups {
		return e.at.errorf(whittle.ResourceExhausted, "more than %d thread groups", maxGroups)
	}
	users := 0
	for i := range j.plan.groups {
		users += j.plan.groups[i].Users
	}
	if users > maxClosed {
		return e.at.errorf(whittle.ResourceExhausted, "%d users in all; at most %d are supported", users, maxClosed)
	}
	j.chooseTarget()
	if len(j.ignored) > 0 {
		j.plan.notes = append(j.plan.notes, fmt.Sprintf("left out, as they send nothing: %s", strings.Join(j.ignored, ", ")))
	}
	return j.finish()
}

// maxGroups bounds the thread groups of a plan: each has histograms of its own.
const maxGroups = 50

// chooseTarget makes the first request's server the plan's target, so that
// another can stand in for it; requests to further servers stay with them.
func (j *jmxReader) chooseTarget() {
	all := j.plan.requests()
	for _, q := range all {
		if q.origin != "" {
			j.plan.Target = q.origin
			break
		}
	}
	for _, q := range all {
		if q.origin == j.plan.Target {
			q.origin = ""
		}
	}
}

// relative reports whether a request of the plan is sent to the target.
func (p *Plan) relative() bool {
	return slices.ContainsFunc(p.requests(), func(q *request) bool { return q.origin == "" && q.address == nil })
}

// refuse says why an element does not run.
func (j *jmxReader) refuse(e *element) error {
	for _, script := range []string{"JSR223", "BeanShell", "BSF", "Groovy"} {
		if strings.HasPrefix(e.name, script) {
			return e.at.errorf(whittle.Unsupported, "%s is not supported: it is a script, and whittle runs the declarative parts of a plan only", e.title())
		}
	}
	return e.at.errorf(whittle.Unsupported, "%s is not supported", e.title())
}

// universal properties have no bearing on what is sent.
var universal = []string{
	"TestPlan.comments", "TestElement.name", "TestElement.gui_class", "TestElement.test_class", "TestElement.enabled",
}

// only refuses properties other than the named ones, unless they are empty or
// false: what a plan asks for is not left out in silence.
func (j *jmxReader) only(e *element, names ...string) error {
	for _, c := range e.children {
		name := c.attributes["name"]
		if slices.Contains(names, name) || slices.Contains(universal, name) {
			continue
		}
		text := strings.TrimSpace(c.text)
		if len(c.children) == 0 && (text == "" || text == "false") {
			continue
		}
		return c.at.errorf(whittle.Unsupported, "%s: the property %s is not supported", e.title(), name)
	}
	return nil
}

// fixed gives a property's text, whose variables must be known before the run.
func (j *jmxReader) fixed(t *tag, name string) (string, error) {
	p := t.prop(name)
	if p == nil {
		return "", nil
	}
	tpl, err := j.compile(p.at, p.text, asText)
	if err != nil {
		return "", err
	}
	text, ok := tpl.constant()
	if !ok {
		return "", p.at.errorf(whittle.Unsupported, "%s: a value that varies during the run is not supported here: %s", name, p.text)
	}
	return strings.TrimSpace(text), nil
}

// number gives a property as a number, or other where it is absent or empty.
func (j *jmxReader) number(t *tag, name string, low, high, other float64) (float64, error) {
	text, err := j.fixed(t, name)
	if err != nil || text == "" {
		return other, err
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(f):
		return 0, t.where(name).invalid("%s: a number is wanted, not %q", name, text)
	case f < low || f > high:
		return 0, t.where(name).invalid("%s: %s is not within %s and %s", name, text, formatNumber(low), formatNumber(high))
	}
	return f, nil
}

func (j *jmxReader) whole(t *tag, name string, low, high, other float64) (int64, error) {
	f, err := j.number(t, name, low, high, other)
	if err == nil && f != math.Trunc(f) {
		return 0, t.where(name).invalid("%s: a whole number is wanted, not %s", name, t.value(name))
	}
	return int64(f), err
}

// seconds gives a property in seconds as a time.
func (j *jmxReader) seconds(t *tag, name string) (time.Duration, error) {
	f, err := j.number(t, name, 0, maxDuration.Seconds(), 0)
	return time.Duration(f * float64(time.Second)), err
}
