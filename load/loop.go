package load

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"whittle"
)

// The variables of a loop where the plan names no others.
const (
	loopCountName   = "$loopCount"
	loopElementName = "$loopElement"
)

// maxWhile bounds a loop that a condition ends.
const maxWhile = 1_000_000

func (r *reader) loop(n, body *node) (*loop, error) {
	l := &loop{}
	counter, element := loopCountName, loopElementName
	for key, name := range map[string]*string{"loopValue": &counter, "loopElement": &element} {
		if given := n.get(key); given != nil {
			if err := str(name)(given); err != nil {
				return nil, err
			}
			if !isName(strings.TrimPrefix(*name, "$")) {
				return nil, given.invalid("%q is not a variable's name", *name)
			}
		}
	}
	l.counter, l.element = r.define(counter)+1, r.define(element)+1
	if err := r.repetitions(l, n); err != nil {
		return nil, err
	}
	var err error
	if l.steps, err = r.flow(body); err != nil {
		return nil, err
	}
	// What nobody reads is not counted.
	if r.used[counter] == nil {
		l.counter = 0
	}
	if r.used[element] == nil {
		l.element = 0
	}
	return l, nil
}

// repetitions reads how often a loop runs.
func (r *reader) repetitions(l *loop, n *node) (err error) {
	count, over, while := n.get("count"), n.get("over"), n.get("whileTrue")
	switch {
	case while != nil:
		l.while, err = r.condition(while, "whileTrue")
		return err
	case count != nil && over != nil:
		return n.invalid("a loop has either count or over")
	case over != nil:
		return r.over(l, over)
	case count == nil:
		return n.errorf(whittle.Unsupported, "a loop without count, over or whileTrue is not supported: it would never end")
	}
	if count.kind == kindNumber && strings.HasPrefix(count.text, "-") {
		return count.errorf(whittle.Unsupported, "a loop with a count below 0 is not supported: it would never end")
	}
	if l.times, err = r.compileTemplate(count, count.text, asText); err != nil {
		return err
	}
	if fixed, ok := l.times.constant(); ok {
		l.times = nil
		if l.first, l.count, ok = loopRange(fixed); !ok || l.count < 1 {
			return count.invalid("a loop's count is a number from 1 to %d, or first-end, not %s", maxLoops, describe(count))
		}
	}
	return nil
}

// loopRange reads "5" or "3-8"; as in Artillery, the end is not reached.
func loopRange(s string) (first, count int64, ok bool) {
	s = strings.TrimSpace(s)
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		from, to = "0", s
	}
	a, err1 := strconv.ParseFloat(strings.TrimSpace(from), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(to), 64)
	if err1 != nil || err2 != nil || a != math.Trunc(a) || b != math.Trunc(b) || a < 0 || b > maxLoops || a > b {
		return 0, 0, false
	}
	return int64(a), int64(b - a), true
}

func (r *reader) over(l *loop, n *node) error {
	if n.kind == kindString && n.text != "" {
		var err error
		l.overValue, err = r.variable(n, n.text)
		return err
	}
	if n.kind != kindList {
		return n.invalid("over takes a list or a variable's name, not %s", describe(n))
	}
	l.over = []value{}
	for _, item := range n.items {
		v, err := r.valueOf(item)
		if err != nil {
			return err
		}
		l.over = append(l.over, v)
	}
	return nil
}

// loop runs the steps of a loop; false: the user does not go on.
func (w *worker) loop(ctx context.Context, l *loop) bool {
	defer w.keep(l.counter)()
	defer w.keep(l.element)()
	first, n, over := l.first, l.count, l.over
	switch {
	case l.while != nil:
		n = maxWhile
	case l.times != nil:
		// As in Artillery, what is no number is no repetition.
		first, n, _ = loopRange(string(l.times.render(nil, &w.scope)))
	case l.overValue != nil:
		over = elements(l.overValue(&w.scope))
		n = int64(len(over))
	case over != nil:
		n = int64(len(over))
	}
	for i := range n {
		w.set(l.counter, func() value { return numberValue(first + i) })
		w.set(l.element, func() value {
			if i < int64(len(over)) {
				return over[i]
			}
			return numberValue(first + i)
		})
		if l.while != nil && !l.while(&evaluation{scope: &w.scope}).truth() {
			break
		}
		// A loop that sends nothing would never see that the run has ended.
		if i&1023 == 1023 && ctx.Err() != nil {
			return false
		}
		if !w.steps(ctx, l.steps) {
			return false
		}
	}
	return true
}

// keep puts a loop's variable back to what it was, for a loop around it.
func (w *worker) keep(slot int) func() {
	if slot == 0 {
		return func() {}
	}
	before := w.scope.values[slot-1]
	return func() { w.scope.values[slot-1] = before }
}

func (w *worker) set(slot int, v func() value) {
	if slot > 0 {
		w.scope.values[slot-1] = v()
	}
}

// elements are those of a list; what is no list has none.
func elements(v value) []value {
	if v.doc == nil || v.doc.kind != kindList {
		return nil
	}
	out := make([]value, len(v.doc.items))
	for i := range out {
		out[i] = v.doc.items[i].value()
	}
	return out
}

// think reads a pause; n is the step, which may say its jitter.
func (r *reader) think(n, v *node) (*think, error) {
	t := &think{jitter: r.jitter, jitterPart: r.jitterPart}
	if j := n.get("jitter"); j != nil {
		t.jitter, t.jitterPart = 0, 0
		if err := readJitter(j, &t.jitter, &t.jitterPart); err != nil {
			return nil, err
		}
	}
	if v.kind == kindString && strings.Contains(v.text, "{{") {
		var err error
		t.text, err = r.compileTemplate(v, v.text, asText)
		return t, err
	}
	return t, duration(&t.pause, maxDuration)(v)
}

// readJitter reads milliseconds, a duration with its unit, or a percentage.
func readJitter(n *node, by *time.Duration, part *float64) error {
	text := strings.TrimSpace(n.text)
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return n.invalid("a jitter in percent is from 0%% to 100%%, not %s", describe(n))
		}
		*part = f / 100
		return nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if !(f >= 0 && f <= float64(maxTimeout/time.Millisecond)) {
			return n.invalid("a jitter of %s ms is not within 0 and %v", text, maxTimeout)
		}
		*by = time.Duration(f * float64(time.Millisecond))
		return nil
	}
	return duration(by, maxTimeout)(n)
}

// length is how long this pause is for this user.
func (t *think) length(s *scope) time.Duration {
	d := t.pause
	if t.text != nil {
		n := node{kind: kindString, text: string(t.text.render(nil, s))}
		if duration(&d, maxDuration)(&n) != nil {
			return 0 // as in Artillery: what is no number is no pause
		}
	}
	if by := float64(t.jitter) + t.jitterPart*float64(d); by > 0 {
		d += time.Duration((2*s.rng.Float64() - 1) * by)
	}
	return max(d, 0)
}
