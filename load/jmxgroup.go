package load

import (
	"math"

	"whittle"
)

// errorActions are what a thread group's users do after a failed sampler.
var errorActions = map[string]onError{
	"": carryOn, "continue": carryOn, "startnextloop": nextLoop, "stopthread": endUser, "stoptest": endRun, "stoptestnow": endRunNow,
}

// threadGroup reads one group of closed users.
func (j *jmxReader) threadGroup(e *element, env surroundings) error {
	err := j.only(e, "ThreadGroup.on_sample_error", "ThreadGroup.main_controller", "ThreadGroup.num_threads", "ThreadGroup.ramp_time",
		"ThreadGroup.start_time", "ThreadGroup.end_time", "ThreadGroup.scheduler", "ThreadGroup.duration", "ThreadGroup.delay",
		"ThreadGroup.same_user_on_next_iteration", "ThreadGroup.delayedStart")
	if err != nil {
		return err
	}
	g, err := j.group(e, env)
	if err != nil {
		return err
	}
	users, err := j.whole(e.tag, "ThreadGroup.num_threads", 0, maxClosed, 1)
	if err != nil {
		return err
	}
	if users == 0 {
		j.ignored = append(j.ignored, e.title()+" (of no users)")
		return nil
	}
	g.Users = int(users)
	if g.Ramp, err = j.seconds(e.tag, "ThreadGroup.ramp_time"); err != nil {
		return err
	}
	if e.is("ThreadGroup.scheduler") {
		if g.Duration, err = j.seconds(e.tag, "ThreadGroup.duration"); err == nil {
			g.delay, err = j.seconds(e.tag, "ThreadGroup.delay")
		}
		if err != nil {
			return err
		}
	}
	if err := j.mainLoop(e, &g); err != nil {
		return err
	}
	j.plan.groups = append(j.plan.groups, g)
	return nil
}

// group reads what both kinds of thread group have: their flow, and what
// follows an error.
func (j *jmxReader) group(e *element, env surroundings) (group, error) {
	g := group{name: e.label, scenario: len(j.plan.scenarios), setup: j.setup}
	action, err := j.fixed(e.tag, "ThreadGroup.on_sample_error")
	if err != nil {
		return g, err
	}
	var ok bool
	if g.onError, ok = errorActions[action]; !ok {
		return g, e.where("ThreadGroup.on_sample_error").errorf(whittle.Unsupported, "on_sample_error: %s is not supported", action)
	}
	g.fresh = e.value("ThreadGroup.same_user_on_next_iteration") == "false"
	steps, err := j.block(e, env)
	if err != nil {
		return g, err
	}
	j.plan.scenarios = append(j.plan.scenarios, scenario{name: e.label, weight: 1, steps: steps})
	j.plan.weight++
	return g, nil
}

// mainLoop reads how often users go through their flow.
func (j *jmxReader) mainLoop(e *element, g *group) error {
	main := e.prop("ThreadGroup.main_controller")
	if main == nil {
		g.Loops = 1
		return nil
	}
	if kind := main.attributes["elementType"]; kind != "" && kind != "LoopController" {
		return main.at.errorf(whittle.Unsupported, "a main controller %s is not supported", kind)
	}
	loops, err := j.whole(main, "LoopController.loops", -1, maxLoops, 1)
	if err != nil {
		return err
	}
	switch {
	case loops == 0:
		return main.where("LoopController.loops").invalid("users of no loops do nothing")
	case loops > 0 && !main.is("LoopController.continue_forever"):
		g.Loops = loops
	case g.Duration == 0:
		g.Loops = math.MaxInt64
		j.plan.notes = append(j.plan.notes, e.title()+" has no end of its own")
	}
	return nil
}

// openGroup reads a group of open arrivals.
func (j *jmxReader) openGroup(e *element, env surroundings) error {
	err := j.only(e, "OpenModelThreadGroup.schedule", "OpenModelThreadGroup.random_seed", "ThreadGroup.main_controller",
		"ThreadGroup.on_sample_error", "ThreadGroup.num_threads", "ThreadGroup.same_user_on_next_iteration")
	if err != nil {
		return err
	}
	schedule, err := j.fixed(e.tag, "OpenModelThreadGroup.schedule")
	if err != nil {
		return err
	}
	phases, err := parseSchedule(schedule)
	if err != nil {
		return e.where("OpenModelThreadGroup.schedule").invalid("the schedule: %v", err)
	}
	g, err := j.group(e, env)
	if err != nil {
		return err
	}
	j.plan.Phases = append(j.plan.Phases, phases...)
	j.plan.arriving = &g
	return nil
}
