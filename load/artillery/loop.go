package artillery

import (
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

func (r *reader) loop(n, body *node) (*plan.Loop, error) {
	l := &plan.Loop{}
	counter, element := loopCountName, loopElementName
	for key, name := range map[string]*string{"loopValue": &counter, "loopElement": &element} {
		if given := n.get(key); given != nil {
			if err := str(name)(given); err != nil {
				return nil, err
			}
			if !expr.IsName(strings.TrimPrefix(*name, "$")) {
				return nil, given.Invalid("%q is not a variable's name", *name)
			}
		}
	}
	l.Counter, l.Element = r.Define(counter)+1, r.Define(element)+1
	if err := r.repetitions(l, n); err != nil {
		return nil, err
	}
	var err error
	if l.Steps, err = r.flow(body); err != nil {
		return nil, err
	}
	// A counter that the plan does not use is not kept.
	if !r.IsUsed(counter) {
		l.Counter = 0
	}
	if !r.IsUsed(element) {
		l.Element = 0
	}
	return l, nil
}

// repetitions reads how often a loop runs.
func (r *reader) repetitions(l *plan.Loop, n *node) (err error) {
	count, over, while := n.get("count"), n.get("over"), n.get("whileTrue")
	switch {
	case while != nil:
		l.While, err = r.condition(while, "whileTrue")
		return err
	case count != nil && over != nil:
		return n.Invalid("a loop has either count or over")
	case over != nil:
		return r.over(l, over)
	case count == nil:
		return n.Errorf(whittle.Unsupported, "a loop without count, over or whileTrue is not supported: it would never end")
	}
	if count.kind == expr.KindNumber && strings.HasPrefix(count.text, "-") {
		return count.Errorf(whittle.Unsupported, "a loop with a count below 0 is not supported: it would never end")
	}
	if l.Times, err = r.compileTemplate(count, count.text, expr.AsText); err != nil {
		return err
	}
	if fixed, ok := l.Times.Constant(); ok {
		l.Times = nil
		if l.First, l.Count, ok = plan.LoopRange(fixed); !ok || l.Count < 1 {
			return count.Invalid("a loop's count is a number from 1 to %d, or first-end, not %s", plan.MaxLoops, describe(count))
		}
	}
	return nil
}

func (r *reader) over(l *plan.Loop, n *node) error {
	if n.kind == expr.KindString && n.text != "" {
		var err error
		l.OverValue, err = r.variable(n, n.text)
		return err
	}
	if n.kind != expr.KindList {
		return n.Invalid("over takes a list or a variable's name, not %s", describe(n))
	}
	l.Over = []expr.Value{}
	for _, item := range n.items {
		v, err := r.valueOf(item)
		if err != nil {
			return err
		}
		l.Over = append(l.Over, v)
	}
	return nil
}

// think reads a pause; n is the step, which may say its jitter.
func (r *reader) think(n, v *node) (*plan.Think, error) {
	t := &plan.Think{Jitter: r.jitter, JitterPart: r.jitterPart}
	if j := n.get("jitter"); j != nil {
		t.Jitter, t.JitterPart = 0, 0
		if err := readJitter(j, &t.Jitter, &t.JitterPart); err != nil {
			return nil, err
		}
	}
	if v.kind == expr.KindString && strings.Contains(v.text, "{{") {
		var err error
		t.Text, err = r.compileTemplate(v, v.text, expr.AsText)
		return t, err
	}
	return t, duration(&t.Pause, plan.MaxDuration)(v)
}

// readJitter reads milliseconds, a duration with its unit, or a percentage.
func readJitter(n *node, by *time.Duration, part *float64) error {
	text := strings.TrimSpace(n.text)
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return n.Invalid("a jitter in percent is from 0%% to 100%%, not %s", describe(n))
		}
		*part = f / 100
		return nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if !(f >= 0 && f <= float64(plan.MaxTimeout/time.Millisecond)) {
			return n.Invalid("a jitter of %s ms is not within 0 and %v", text, plan.MaxTimeout)
		}
		*by = time.Duration(f * float64(time.Millisecond))
		return nil
	}
	return duration(by, plan.MaxTimeout)(n)
}
