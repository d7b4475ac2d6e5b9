package jmeter

import (
	"math"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
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
	at, groups := 0, len(j.Plan.Groups)
	for _, p := range parts {
		if p.users <= 0 {
			continue
		}
		if at += p.users; p.hold <= 0 {
			continue // they are to go before they have come
		}
		own := g
		own.Users, own.Ramp, own.Delay, own.Duration, own.First = p.users, p.ramp, p.delay, p.hold, at-p.users
		if own.Loops = p.loops; p.loops == 0 {
			own.Loops = j.scheduledLoops(e)
		}
		j.Plan.Groups = append(j.Plan.Groups, own)
	}
	if len(j.Plan.Groups) == groups {
		j.ignored = append(j.ignored, e.title()+" (of no users)")
	}
}

// newEachLoop reports whether a group's users are new ones with each loop, and begin it
// with new connections. The older of the plugins' groups know of nothing else.
func newEachLoop(e *element) bool {
	switch e.name {
	case steppingGroup, ultimateGroup:
		return true
	case concurrencyGroup:
		return e.value("same_user_on_next_iteration") == "false"
	}
	return e.value("ThreadGroup.same_user_on_next_iteration") == "false"
}

// part are users that come over a time and go together.
type part struct {
	users             int
	delay, ramp, hold time.Duration // hold is from the delay's end
	loops             int64
}

// stepping are the users of a SteppingThreadGroup: some at the beginning and then some
// at each step, all for the flight time after the last step, then fewer step by step. The
// arithmetic is the plugin's.
func (j *reader) stepping(e *element) []part {
	j.refuseOthers(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "ThreadGroup.num_threads", "Threads initial delay", "Start users count",
		"Start users count burst", "Start users period", "Stop users count", "Stop users period", "flighttime", "rampUp")
	total := int(j.whole(e.tag, "ThreadGroup.num_threads", 1, plan.MaxClosed, 1))
	step := int(j.whole(e.tag, "Start users count", 0, plan.MaxClosed, 0))
	burst := int(j.whole(e.tag, "Start users count burst", 0, plan.MaxClosed, 0))
	every, ramp := j.seconds(e.tag, "Start users period"), j.seconds(e.tag, "rampUp")
	delay, flight := j.seconds(e.tag, "Threads initial delay"), j.seconds(e.tag, "flighttime")
	out, off := int(j.whole(e.tag, "Stop users count", 0, plan.MaxClosed, 0)), j.seconds(e.tag, "Stop users period")
	if step < 1 {
		step = total
	}
	if burst < 1 {
		burst = step
	}
	if out < 1 {
		out = total
	}
	burst = min(burst, total)
	climb := every + ramp
	steps := (total - burst + step - 1) / step
	last := total - burst - (steps-1)*step // the users of the last step
	if steps == 0 {
		last = step
	}
	end := delay + time.Duration(steps)*climb + ramp/time.Duration(step)*time.Duration(last) + flight
	var parts []part
	for n := 0; n < total; {
		// What comes together, and of that what goes together: the first to come goes first.
		in, from, of := time.Duration(0), 0, burst
		if n >= burst {
			k := (n - burst) / step
			in, from, of = time.Duration(k+1)*climb, burst+k*step, step
		}
		users := min(from+of, (n/out+1)*out, total) - n
		at := delay + in + ramp/time.Duration(of)*time.Duration(n-from)
		leaves := end + time.Duration(n/out)*off
		parts = append(parts, part{users: users, delay: at, ramp: ramp / time.Duration(of) * time.Duration(users), hold: leaves - at})
		n += users
	}
	return parts
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
		most := plan.MaxDuration.Seconds()
		n := j.row(row, "users, delay, start-up, hold and shut-down", most, most, most, most, most)
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
				return time.Duration(n[2] * float64(i+1) / math.Max(float64(users), 1) * float64(time.Second))
			}
			leaves := s(2) + s(3) + time.Duration(n[4]*float64(k+1)/float64(pieces)*float64(time.Second))
			out = append(out, part{users: to - from, delay: s(1) + at(from), ramp: at(to) - at(from), hold: leaves - at(from)})
		}
	}
	return out
}

// row reads numbers from 0, each up to a bound.
func (j *reader) row(t *tag, what string, bounds ...float64) []float64 {
	if len(t.children) < len(bounds) {
		panic(t.at.Invalid("a row is %s", what))
	}
	n := make([]float64, len(bounds))
	for i, c := range t.children[:len(bounds)] {
		f, err := strconv.ParseFloat(j.fixedOf(c, "a row"), 64)
		if err != nil || !(f >= 0) || f > bounds[i] {
			panic(c.at.Invalid("%q is not a number up to %s: a row is %s", c.content(), units.Plain(bounds[i]), what))
		}
		n[i] = f
	}
	return n
}

// concurrency are the users of a ConcurrencyThreadGroup: a level that is reached in
// steps over a time, and then held.
func (j *reader) concurrency(e *element) []part {
	j.refuseOthers(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "TargetLevel", "RampUp", "Steps", "Hold", "LogFilename", "Iterations", "Unit",
		"same_user_on_next_iteration", "ThreadGroup.same_user_on_next_iteration")
	users := int(j.whole(e.tag, "TargetLevel", 0, plan.MaxClosed, 0))
	unit := time.Minute // of both times
	if j.fixed(e.tag, "Unit") == "S" {
		unit = time.Second
	}
	times := func(name string) time.Duration {
		return time.Duration(j.number(e.tag, name, 0, plan.MaxDuration.Minutes(), 0) * float64(unit))
	}
	ramp, hold := times("RampUp"), times("Hold")
	steps := int(j.whole(e.tag, "Steps", 0, plan.MaxClosed, 0))
	loops := j.whole(e.tag, "Iterations", 0, plan.MaxLoops, 0)
	if loops > 0 {
		j.noteOf(e, ": users who have come to the limit of iterations are not replaced, where the plugin begins others in their place")
	}
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

// maxIncluded bounds how deeply fragments lie within each other.
const maxIncluded = 16

// includeModules puts what Module Controllers name below them.
func (j *reader) includeModules(e *element, depth int) {
	for _, c := range e.below {
		if c.name == "ModuleController" {
			c.below = []*element{j.module(c)}
			depth++
		}
		if depth > maxIncluded {
			panic(c.at.Errorf(whittle.ResourceExhausted, "modules within each other, deeper than %d", maxIncluded))
		}
		j.includeModules(c, depth)
	}
}

// module finds the controller that a Module Controller names by its path of labels, which
// begins with the tree's root. As in JMeter it may be disabled where it stands, and of
// several of one path the last counts.
func (j *reader) module(e *element) *element {
	path := e.prop("ModuleController.node_path")
	if path == nil {
		panic(e.at.Invalid("%s names no module", e.title()))
	}
	var labels []string
	for _, c := range path.children {
		labels = append(labels, c.text)
	}
	at := descend(j.tree, labels[min(1, len(labels)):])
	switch {
	case at == nil:
		panic(e.at.Invalid("%s: there is no module %s", e.title(), strings.Join(labels, " / ")))
	case isGroup(at.name) || at.name == "TestPlan":
		panic(e.at.Errorf(whittle.Unsupported, "%s: %s is no controller", e.title(), strings.Join(labels, " / ")))
	case at.name == "TestFragmentController":
		at.tag = &tag{name: "GenericController", at: at.at}
	}
	return at
}

// descend follows labels through a hashTree to an element of its own; nil where there
// is no such element. JMeter goes through no Module Controller.
func descend(tree *tag, labels []string) (found *element) {
	if len(labels) == 0 {
		return nil
	}
	for i, t := range tree.children {
		if t.name == "hashTree" || t.name == "ModuleController" || t.attributes["testname"] != labels[0] {
			continue
		}
		below := &tag{}
		if i+1 < len(tree.children) && tree.children[i+1].name == "hashTree" {
			below = tree.children[i+1]
		}
		if len(labels) == 1 {
			found = &element{tag: t, label: labels[0], below: testElements(below)}
		} else if further := descend(below, labels[1:]); further != nil {
			found = further
		}
	}
	return found
}
