package artillery

import (
	"math"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// The variables of a loop where the plan names no others.
const (
	loopCountName   = "$loopCount"
	loopElementName = "$loopElement"
)

func (r *reader) loop(n, body *node) *plan.Loop {
	l := &plan.Loop{}
	counter, element := loopCountName, loopElementName
	for key, name := range map[string]*string{"loopValue": &counter, "loopElement": &element} {
		if given := n.get(key); given != nil {
			str(name)(given)
			if !expr.IsName(strings.TrimPrefix(*name, "$")) {
				panic(given.Invalid("%q is not a variable's name", *name))
			}
		}
	}
	l.Counter, l.Element = r.Define(counter)+1, r.Define(element)+1
	r.repetitions(l, n)
	l.Steps = r.flow(body)
	// What scripts may look at is kept.
	if r.processor != nil {
		return l
	}
	// A counter that the plan does not use is not kept.
	if !r.IsUsed(counter) {
		l.Counter = 0
	}
	if !r.IsUsed(element) {
		l.Element = 0
	}
	return l
}

// repetitions reads how often a loop runs.
func (r *reader) repetitions(l *plan.Loop, n *node) {
	count, over, while := n.get("count"), n.get("over"), n.get("whileTrue")
	switch {
	case while != nil && r.processor != nil && r.processor.module.Function(while.text) != nil:
		r.Plan.Scripted = true
		l.Again = r.functionLoop(r.processor.module.Function(while.text))
		if over != nil {
			r.over(l, over)
		}
		return
	case while != nil && count == nil && over == nil:
		l.While = r.condition(while, "whileTrue")
		return
	case while != nil:
		r.note(while, "whileTrue is left out, as by Artillery: the processor has no function %q", while.text)
	}
	switch {
	case over != nil:
		r.over(l, over)
		if count != nil {
			r.count(l, count)
		}
		return
	case count == nil:
		panic(n.Errorf(whittle.Unsupported, "a loop without count, over or whileTrue is not supported: it would never end"))
	}
	r.count(l, count)
}

// count reads how often a loop runs, or where a loop over a list begins.
func (r *reader) count(l *plan.Loop, count *node) {
	if count.kind == expr.KindNumber && (strings.HasPrefix(count.text, "-") || count.text == "0") {
		panic(count.Errorf(whittle.Unsupported, "a loop with a count of 0 or below is not supported: it would never end"))
	}
	l.Times = r.compileTemplate(count, count.text, expr.AsText)
	if fixed, ok := l.Times.Constant(); ok {
		l.Times = nil
		if l.First, l.Count, ok = plan.LoopRange(fixed); !ok || l.Count < 1 {
			panic(count.Invalid("a loop's count is a number from 1 to %d, or first-end, not %s", plan.MaxLoops, describe(count)))
		}
	}
}

func (r *reader) over(l *plan.Loop, n *node) {
	if n.kind == expr.KindString && n.text != "" {
		l.OverValue = r.known(n, n.text)
		return
	}
	if n.kind != expr.KindList {
		panic(n.Invalid("over takes a list or a variable's name, not %s", describe(n)))
	}
	l.Over = []expr.Value{}
	for _, item := range n.items {
		l.Over = append(l.Over, r.valueOf(item))
	}
}

// think reads a pause; n is the step, which may say its jitter.
func (r *reader) think(n, v *node) *plan.Think {
	t := &plan.Think{Jitter: r.jitter, JitterPart: r.jitterPart}
	if j := n.get("jitter"); j != nil {
		t.Jitter, t.JitterPart = 0, 0
		readJitter(j, &t.Jitter, &t.JitterPart)
	}
	text := strings.TrimSpace(v.text)
	if f, err := strconv.ParseFloat(text, 64); err == nil && f != math.Trunc(f) {
		r.note(v, "a think time of %s is %s milliseconds, as by Artillery, which reads only whole numbers as seconds: write it with its unit", text, text)
		t.Pause = time.Duration(f * float64(time.Millisecond))
		return t
	}
	if v.kind == expr.KindString && strings.Contains(v.text, "{{") {
		t.Text = r.compileTemplate(v, v.text, expr.AsText)
		return t
	}
	duration(&t.Pause, plan.MaxDuration)(v)
	return t
}

// readJitter reads milliseconds, a duration with its unit, or a percentage.
func readJitter(n *node, by *time.Duration, part *float64) {
	text := strings.TrimSpace(n.text)
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			panic(n.Invalid("a jitter in percent is from 0%% to 100%%, not %s", describe(n)))
		}
		*part = f / 100
		return
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if !(f >= 0 && f <= float64(plan.MaxTimeout/time.Millisecond)) {
			panic(n.Invalid("a jitter of %s ms is not within 0 and %v", text, plan.MaxTimeout))
		}
		*by = time.Duration(f * float64(time.Millisecond))
		return
	}
	duration(by, plan.MaxTimeout)(n)
}
