package jmeter

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/plan"
)

// isGroup reports whether an element is a group of closed users.
func isGroup(name string) bool {
	switch name {
	case "ThreadGroup", "SetupThreadGroup", "PostThreadGroup", steppingGroup, ultimateGroup, concurrencyGroup:
		return true
	}
	return false
}

// The thread groups of the plugins that plans have.
const (
	steppingGroup    = "kg.apc.jmeter.threads.SteppingThreadGroup"
	ultimateGroup    = "kg.apc.jmeter.threads.UltimateThreadGroup"
	concurrencyGroup = "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup"
)

// pluginGroup reads a group whose users come and go by a schedule. Each part of the
// users that comes and goes together is a group of its own; all have one flow.
func (j *reader) pluginGroup(e *element, env elementScope) {
	g := j.group(e, env)
	j.atStart = true
	defer func() { j.atStart = false }()
	parts := map[string]func(*element) []part{steppingGroup: j.stepping, ultimateGroup: j.ultimate, concurrencyGroup: j.concurrency}[e.name](e)
	at := 0
	for _, p := range parts {
		if p.users <= 0 {
			continue
		}
		own := g
		own.Users, own.Ramp, own.Delay, own.Duration, own.First = p.users, p.ramp, p.delay, p.hold, at
		if own.Loops = p.loops; p.loops == 0 {
			own.Loops = j.scheduledLoops(e)
		}
		at += p.users
		j.Plan.Groups = append(j.Plan.Groups, own)
	}
	if at == 0 {
		j.ignored = append(j.ignored, e.title()+" (of no users)")
	}
}

// part are users that come over a time and go together.
type part struct {
	users             int
	delay, ramp, hold time.Duration // hold is from the delay's end
	loops             int64
}

// seconds of a property, which may be a fraction.
func (j *reader) secondsOf(e *element, name string) time.Duration {
	return time.Duration(j.number(e.tag, name, 0, plan.MaxDuration.Seconds(), 0) * float64(time.Second))
}

// stepping are the users of a SteppingThreadGroup: some at the beginning and then some
// at each step, all for the flight time after the last step, then fewer step by step.
func (j *reader) stepping(e *element) []part {
	j.refuseOthers(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "ThreadGroup.num_threads", "Threads initial delay", "Start users count",
		"Start users count burst", "Start users period", "Stop users count", "Stop users period", "flighttime", "rampUp")
	total := int(j.whole(e.tag, "ThreadGroup.num_threads", 1, plan.MaxClosed, 1))
	step := int(j.whole(e.tag, "Start users count", 0, plan.MaxClosed, 0))
	burst := int(j.whole(e.tag, "Start users count burst", 0, plan.MaxClosed, 0))
	every, ramp := j.secondsOf(e, "Start users period"), j.secondsOf(e, "rampUp")
	delay, flight := j.secondsOf(e, "Threads initial delay"), j.secondsOf(e, "flighttime")
	out, off := int(j.whole(e.tag, "Stop users count", 0, plan.MaxClosed, 0)), j.secondsOf(e, "Stop users period")
	if step < 1 {
		step = total
	}
	if burst < 1 {
		burst = step
	}
	if out < 1 {
		out = total
	}
	var parts []part
	at, gone := delay, 0
	for users := 0; users < total; {
		n := step
		if users == 0 {
			n = burst
		}
		n = min(n, total-users)
		parts = append(parts, part{users: n, delay: at, ramp: ramp})
		if users += n; users < total {
			at += ramp + every
		}
	}
	end := at + ramp + flight
	var split []part
	for _, p := range parts {
		// The first to come are the first to go.
		for n := p.users; n > 0; {
			k := min(n, out-gone%out)
			leaves := end + time.Duration(gone/out)*off
			own := part{users: k, delay: p.delay + time.Duration(float64(p.ramp)*float64(p.users-n)/float64(p.users)), hold: leaves - p.delay}
			own.ramp = time.Duration(float64(p.ramp) * float64(k) / float64(p.users))
			own.hold = leaves - own.delay
			split = append(split, own)
			gone += k
			n -= k
		}
	}
	return split
}

// ultimate are the users of an UltimateThreadGroup: rows of users, delay, start-up, hold
// and shut-down.
func (j *reader) ultimate(e *element) []part {
	j.refuseOthers(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "ultimatethreadgroupdata", "ThreadGroup.num_threads", "ThreadGroup.ramp_time",
		"ThreadGroup.start_time", "ThreadGroup.end_time", "ThreadGroup.duration", "ThreadGroup.delay", "ThreadGroup.scheduler", "ThreadGroup.same_user_on_next_iteration")
	var out []part
	rows := e.prop("ultimatethreadgroupdata")
	if rows == nil {
		return nil
	}
	for _, row := range rows.children {
		if len(row.children) < 5 {
			panic(row.at.Invalid("a row is users, delay, start-up, hold and shut-down"))
		}
		var n [5]float64
		for i := range n {
			text := j.constantText(row.children[i])
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || f < 0 || f > plan.MaxDuration.Seconds() {
				panic(row.children[i].at.Invalid("%q is not a number of users or seconds", text))
			}
			n[i] = f
		}
		s := func(i int) time.Duration { return time.Duration(n[i] * float64(time.Second)) }
		users := int(min(n[0], plan.MaxClosed))
		// The users go one by one over the shut-down, the first to come first.
		pieces := 1
		if n[4] > 0 {
			pieces = min(users, 20)
		}
		for k := range pieces {
			from, to := users*k/pieces, users*(k+1)/pieces
			at := func(i int) time.Duration {
				return time.Duration(n[2] * float64(i) / math.Max(float64(users), 1) * float64(time.Second))
			}
			leaves := s(2) + s(3) + time.Duration(n[4]*float64(k+1)/float64(pieces)*float64(time.Second))
			out = append(out, part{users: to - from, delay: s(1) + at(from), ramp: at(to) - at(from), hold: leaves - at(from)})
		}
	}
	return out
}

// concurrency are the users of a ConcurrencyThreadGroup: a level that is reached in
// steps over a time, and then held.
func (j *reader) concurrency(e *element) []part {
	j.refuseOthers(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "TargetLevel", "RampUp", "Steps", "Hold", "LogFilename", "Iterations", "Unit")
	users := int(j.whole(e.tag, "TargetLevel", 0, plan.MaxClosed, 0))
	unit := time.Minute
	if j.fixed(e.tag, "Unit") == "S" {
		unit = time.Second
	}
	limit := plan.MaxDuration.Seconds() / 60
	times := func(name string) time.Duration {
		return time.Duration(j.number(e.tag, name, 0, limit, 0) * float64(unit))
	}
	ramp, hold := times("RampUp"), times("Hold")
	steps := int(j.whole(e.tag, "Steps", 0, plan.MaxClosed, 0))
	loops := j.whole(e.tag, "Iterations", 0, plan.MaxLoops, 0)
	if hold == 0 && ramp == 0 {
		panic(e.at.Invalid("%s has neither a ramp nor a time to hold", e.title()))
	}
	if steps < 1 || ramp == 0 {
		return []part{{users: users, ramp: ramp, hold: ramp + hold, loops: loops}}
	}
	var out []part
	for k := range steps {
		from, to := users*k/steps, users*(k+1)/steps
		at := time.Duration(float64(ramp) * float64(k) / float64(steps))
		out = append(out, part{users: to - from, delay: at, hold: ramp + hold - at, loops: loops})
	}
	return out
}

// constantText is the text of a property that must be known before the run.
func (j *reader) constantText(t *tag) string {
	text, ok := j.compile(t.at, t.content(), 0).Constant()
	if !ok {
		panic(t.at.Errorf(whittle.Unsupported, "a value that varies during the run is not supported here: %s", t.text))
	}
	return strings.TrimSpace(text)
}

// maxIncluded bounds how deeply fragments lie within each other.
const maxIncluded = 16

// include puts what Include and Module Controllers name below them.
func (j *reader) include(root, e *element, depth int) {
	for _, c := range e.below {
		switch c.name {
		case "IncludeController":
			c.below = j.included(c)
			depth++
		case "ModuleController":
			c.below = []*element{j.module(root, c)}
			depth++
		}
		if depth > maxIncluded {
			panic(c.at.Errorf(whittle.ResourceExhausted, "fragments within each other, deeper than %d", maxIncluded))
		}
		j.include(root, c, depth)
	}
}

// included reads the fragment of another file.
func (j *reader) included(e *element) []*element {
	name := j.fixed(e.tag, "IncludeController.includepath")
	if j.Source.Open == nil {
		panic(e.at.Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", name))
	}
	src, err := j.Source.Open(name)
	if err != nil {
		panic(e.where("IncludeController.includepath").Errorf(whittle.CodeOf(err), "%v", err))
	}
	if j.sources += len(src); j.sources > MaxBytes {
		panic(e.at.Errorf(whittle.ResourceExhausted, "the plan and what it includes have more than %d bytes", MaxBytes))
	}
	j.raw = append(slices.Clip(j.raw), src...)
	root := parseXML(name, src)
	if len(root.children) == 0 || root.children[0].name != "hashTree" {
		panic(root.at.Invalid("a JMeter plan has a hashTree"))
	}
	var out []*element
	for _, c := range testElements(root.children[0]) {
		if c.name == "TestPlan" {
			out = append(out, c.below...)
		} else {
			out = append(out, c)
		}
	}
	var flat []*element
	for _, c := range out {
		if c.name == "TestFragmentController" {
			flat = append(flat, c.below...)
		} else if !isGroup(c.name) {
			flat = append(flat, c)
		}
	}
	return flat
}

// module finds the controller that a Module Controller names by its path of labels.
func (j *reader) module(root, e *element) *element {
	path := e.prop("ModuleController.node_path")
	if path == nil {
		panic(e.at.Invalid("%s names no module", e.title()))
	}
	var labels []string
	for _, c := range path.children {
		labels = append(labels, c.text)
	}
	// The path begins with the tree's root and the plan, each of one label or none.
	var at *element
	for from := 0; from < len(labels) && from < 3 && at == nil; from++ {
		at = descend(root, labels[from:])
	}
	if at == nil || isGroup(at.name) {
		panic(e.at.Invalid("%s: there is no enabled module %s", e.title(), strings.Join(labels, " / ")))
	}
	copied := *at
	if copied.name == "TestFragmentController" {
		copied.tag = &tag{name: "GenericController", at: at.at}
	}
	copied.below = append([]*element(nil), at.below...)
	return &copied
}

// descend follows labels; nil where one is of nothing.
func descend(at *element, labels []string) *element {
	for _, label := range labels {
		i := slices.IndexFunc(at.below, func(c *element) bool { return c.label == label })
		if i < 0 {
			return nil
		}
		at = at.below[i]
	}
	return at
}
