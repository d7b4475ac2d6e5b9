package jmeter

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/plan"
)

// errorActions are what a thread group's users do after a failed sampler.
var errorActions = map[string]plan.OnError{
	"": plan.NextStep, "continue": plan.NextStep, "startnextloop": plan.NextLoop, "stopthread": plan.EndUser, "stoptest": plan.EndRun, "stoptestnow": plan.EndRunNow,
}

// threadGroup reads one group of closed users.
func (j *reader) threadGroup(e *element, env elementScope) {
	j.refuseOthers(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "ThreadGroup.num_threads", "ThreadGroup.ramp_time",
		"ThreadGroup.start_time", "ThreadGroup.end_time", "ThreadGroup.scheduler", "ThreadGroup.duration", "ThreadGroup.delay",
		"ThreadGroup.same_user_on_next_iteration", "ThreadGroup.delayedStart", "ThreadGroup.disabled")
	// JMeter looks at these when the group starts.
	j.atStart = true
	defer func() { j.atStart = false }()
	if text := j.fixed(e.tag, "ThreadGroup.num_threads"); text != "" {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			j.ignored = append(j.ignored, fmt.Sprintf("%s (of %q users, which JMeter reads as none)", e.title(), text))
			return
		}
	}
	users := j.whole(e.tag, "ThreadGroup.num_threads", 0, plan.MaxClosed, 1)
	if users == 0 {
		j.ignored = append(j.ignored, e.title()+" (of no users)")
		return
	}
	j.atStart = false
	g := j.group(e, env)
	j.atStart = true
	g.Users = int(users)
	g.Ramp = j.seconds(e.tag, "ThreadGroup.ramp_time")
	if e.is("ThreadGroup.scheduler") {
		g.Duration, g.Delay = j.seconds(e.tag, "ThreadGroup.duration"), j.seconds(e.tag, "ThreadGroup.delay")
	}
	j.mainLoop(e, &g)
	if main := e.prop("ThreadGroup.main_controller"); main != nil && strings.TrimSpace(j.fixed(main, "LoopController.loops")) == "0" {
		j.ignored = append(j.ignored, e.title()+" (of no loops)")
		return
	}
	j.Plan.Groups = append(j.Plan.Groups, g)
}

// group reads what both kinds of thread group have: their flow, and what
// follows an error.
func (j *reader) group(e *element, env elementScope) plan.Group {
	g := plan.Group{Name: e.label, Scenario: len(j.Plan.Scenarios), Setup: j.setup}
	action := j.fixed(e.tag, "ThreadGroup.on_sample_error")
	var ok bool
	if g.OnError, ok = errorActions[action]; !ok {
		panic(e.where("ThreadGroup.on_sample_error").Errorf(whittle.Unsupported, "on_sample_error: %s is not supported", action))
	}
	g.Fresh, g.KeepsCookies = newEachLoop(e), true
	switch e.name {
	case "SetupThreadGroup":
		g.Stage = plan.Setup
	case "PostThreadGroup":
		g.Stage = plan.Teardown
	}
	j.prepared, j.onError = nil, g.OnError
	steps := j.block(e, env)
	if index := j.roundIndex(e); index != nil {
		steps = slices.Insert(steps, 0, plan.Step{Action: does(func(u plan.User) bool { index.set(u.Scope(), u.Loop()); return true })})
	}
	if len(j.prepared) > 0 {
		steps = slices.Insert(steps, 0, plan.Step{Action: prepare(j.prepared)})
	}
	j.Plan.Scenarios = append(j.Plan.Scenarios, plan.Scenario{Name: e.label, Weight: 1, Steps: steps})
	j.Plan.Weight++
	return g
}

// mainLoop reads how often users go through their flow.
func (j *reader) mainLoop(e *element, g *plan.Group) {
	main := e.prop("ThreadGroup.main_controller")
	if main == nil {
		g.Loops = 1
		return
	}
	if kind := main.attributes["elementType"]; kind != "" && kind != "LoopController" {
		panic(main.at.Errorf(whittle.Unsupported, "a main controller %s is not supported", kind))
	}
	loops := j.whole(main, "LoopController.loops", -1, plan.MaxLoops, 1)
	switch {
	case loops == 0:
		g.Loops = 0
		return
	case loops > 0 && !main.is("LoopController.continue_forever"):
		g.Loops = loops
	case g.Duration == 0:
		g.Loops = math.MaxInt64
		j.Plan.Notes = append(j.Plan.Notes, e.title()+" has no end of its own")
	}
}

// scheduledLoops is how often each user of a group with a schedule goes through its flow,
// where that says so. 0: until its time is over.
func (j *reader) scheduledLoops(e *element) int64 {
	main := e.prop("ThreadGroup.main_controller")
	if main == nil || main.value("LoopController.loops") == "" || main.value("LoopController.continue_forever") != "false" {
		return 0
	}
	return max(j.whole(main, "LoopController.loops", -1, plan.MaxLoops, -1), 0)
}

// openGroup reads a group of open arrivals.
func (j *reader) openGroup(e *element, env elementScope) {
	j.refuseOthers(e, "OpenModelThreadGroup.schedule", "OpenModelThreadGroup.random_seed", "ThreadGroup.main_controller",
		"ThreadGroup.on_sample_error", "ThreadGroup.num_threads", "ThreadGroup.same_user_on_next_iteration")
	schedule := j.fixed(e.tag, "OpenModelThreadGroup.schedule")
	phases, err := parseSchedule(schedule)
	if err != nil {
		panic(e.where("OpenModelThreadGroup.schedule").Invalid("the schedule: %v", err))
	}
	g := j.group(e, env)
	j.Plan.Phases = append(j.Plan.Phases, phases...)
	j.Plan.OpenGroup = &g
}

// The groups of open arrivals: each arrival is a user of its own, who goes through the flow
// once.
const (
	openModelGroup = "OpenModelThreadGroup"
	arrivalsGroup  = "com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup"
)

func isOpenGroup(name string) bool { return name == openModelGroup || name == arrivalsGroup }

// arrivals reads the plugin's group of arrivals: a rate that is reached in steps over a time,
// and then held.
func (j *reader) arrivals(e *element, env elementScope) {
	j.refuseOthers(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "TargetLevel", "RampUp", "Steps", "Hold", "LogFilename", "Iterations", "Unit",
		"ConcurrencyLimit", "same_user_on_next_iteration")
	g := j.group(e, env)
	j.atStart = true
	defer func() { j.atStart = false }()
	unit, ramp, hold := j.rampAndHold(e)
	rate := j.number(e.tag, "TargetLevel", 0, plan.MaxRate, 0) / unit.Seconds()
	steps := int(j.whole(e.tag, "Steps", 0, maxSteps, 0))
	most := int(j.whole(e.tag, "ConcurrencyLimit", 0, plan.MaxClosed, 0))
	if ramp+hold == 0 || rate == 0 {
		panic(e.at.Invalid("%s has no arrivals: it has a rate, and a time to hold it", e.title()))
	}
	add := func(rate float64, d time.Duration) {
		j.Plan.Phases = append(j.Plan.Phases, plan.Phase{Rate: rate, RampTo: rate, Linear: true, Duration: d, MaxUsers: most})
	}
	switch {
	case ramp > 0 && steps == 0:
		j.note(e.title() + " begins after its ramp, as by the plugin: it comes to nobody in a ramp without steps")
		j.Plan.Phases = append(j.Plan.Phases, plan.Phase{Duration: ramp})
	case ramp > 0:
		for k := range steps {
			add(rate*float64(k+1)/float64(steps), ramp/time.Duration(steps))
		}
	}
	if hold > 0 {
		add(rate, hold)
	}
	j.Plan.OpenGroup = &g
}

// maxSteps bounds the steps of a ramp.
const maxSteps = 10_000
