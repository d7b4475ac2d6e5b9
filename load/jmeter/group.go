package jmeter

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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
	j.onError = g.OnError
	steps := j.block(e, env)
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
