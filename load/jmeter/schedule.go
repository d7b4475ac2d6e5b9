package jmeter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle/internal/units"
	"whittle/load/expr"
	"whittle/load/plan"
)

// maxSchedule bounds the text of an open model's schedule.
const maxSchedule = 64 << 10

// parseSchedule reads the schedule of JMeter's OpenModelThreadGroup: rate(n/sec),
// random_arrivals(time), even_arrivals(time) and pause(time), with comments.
// Arrivals go from the rate before them to the rate after them in a straight
// line, and keep the one before where none follows.
func parseSchedule(src string) (phases []plan.Phase, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case scheduleError:
			phases, err = nil, errors.New(string(e))
		default:
			panic(e)
		}
	}()
	if len(src) > maxSchedule {
		return nil, fmt.Errorf("a schedule has at most %d bytes", maxSchedule)
	}
	p := scheduleParser{words: scheduleWords(src)}
	for len(p.words) > 0 {
		p.step()
	}
	if len(p.phases) == 0 {
		return nil, fmt.Errorf("a schedule has arrivals")
	}
	if plan.TotalLength(p.phases) > plan.MaxDuration {
		return nil, fmt.Errorf("the schedule takes longer than %v", plan.MaxDuration)
	}
	return p.phases, nil
}

// scheduleError is what the reading of a schedule ends with.
type scheduleError string

func scheduleFails(format string, args ...any) { panic(scheduleError(fmt.Sprintf(format, args...))) }

// scheduleToken is white space, a comment, or a number, a name or a sign.
var scheduleToken = regexp.MustCompile(`(?s)^(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/|([0-9.]+|[A-Za-z_]\w*|[()/]))`)

// scheduleWords splits a schedule into names, numbers and signs.
func scheduleWords(src string) (out []string) {
	for src != "" {
		m := scheduleToken.FindStringSubmatch(src)
		switch {
		case m == nil:
			scheduleFails("%.20q is not understood", src)
		case m[1] == "/" && strings.HasPrefix(src, "/*"):
			scheduleFails("/* without */")
		case m[1] != "":
			out = append(out, strings.ToLower(m[1]))
		}
		src = src[len(m[0]):]
	}
	return out
}

type scheduleParser struct {
	words  []string
	rate   float64 // arrivals per second
	open   bool    // the last phase takes its end from the rate that follows
	phases []plan.Phase
}

// peek is the next word, empty at the end.
func (p *scheduleParser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *scheduleParser) next() string {
	w := p.peek()
	p.words = p.words[min(1, len(p.words)):]
	return w
}

func (p *scheduleParser) expect(sign string) {
	if w := p.next(); w != sign {
		scheduleFails("%q is wanted, not %q", sign, w)
	}
}

func (p *scheduleParser) step() {
	name := p.next()
	p.expect("(")
	switch name {
	case "rate":
		p.setRate()
	case "random_arrivals", "even_arrivals":
		p.phases = append(p.phases, plan.Phase{
			Duration: p.time(), Rate: p.rate, RampTo: p.rate, Linear: true, Poisson: name == "random_arrivals",
		})
		p.open = true
	case "pause":
		p.phases = append(p.phases, plan.Phase{Duration: p.time()})
		p.open = false
	default:
		scheduleFails("%q is not known; known are rate, random_arrivals, even_arrivals and pause", name)
	}
	p.expect(")")
}

func (p *scheduleParser) setRate() {
	n, unit := p.number(), time.Second
	if n != 0 || p.ahead() {
		if w := p.next(); w != "/" && w != "per" {
			scheduleFails("a rate is a number per unit of time, such as 5/sec")
		}
		unit = p.unit()
	}
	if p.rate = n / unit.Seconds(); p.rate > plan.MaxRate {
		scheduleFails("a rate of more than %v a second", plan.MaxRate)
	}
	if p.open {
		p.phases[len(p.phases)-1].RampTo = p.rate
		p.open = false
	}
}

// ahead reports whether there is more before the closing parenthesis.
func (p *scheduleParser) ahead() bool { return len(p.words) > 0 && p.words[0] != ")" }

// time reads a number of units, of which several add up: 1 min 30 sec.
func (p *scheduleParser) time() time.Duration {
	var sum float64
	for {
		n, unit := p.number(), time.Second
		if n != 0 || p.ahead() {
			unit = p.unit()
		}
		if sum += n * float64(unit); sum > float64(plan.MaxDuration) {
			scheduleFails("longer than %v", plan.MaxDuration)
		}
		if !p.ahead() {
			return time.Duration(math.Round(sum))
		}
	}
}

func (p *scheduleParser) number() float64 {
	w := p.next()
	n, err := strconv.ParseFloat(w, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) { // Go reads nan and inf, too
		scheduleFails("a number is wanted, not %q", w)
	}
	return n
}

func (p *scheduleParser) unit() time.Duration {
	w := p.next()
	u, ok := plan.Unit(w)
	if !ok || w == "" {
		scheduleFails("%q is not a unit of time", w)
	}
	return u
}

// shapingTimer is the plugin's Throughput Shaping Timer.
const shapingTimer = "kg.apc.jmeter.timers.VariableThroughputTimer"

// shape is the schedule of a Throughput Shaping Timer: how many samplers in each second.
type shape struct {
	rows  []shapeRow
	total int // seconds
}

// shapeRow is a rate that changes from second to second.
type shapeRow struct {
	from, to float64
	seconds  int
}

// shape reads a Throughput Shaping Timer: so many samplers in each second of a schedule,
// after which the run ends. Who is late in a second is sent at once, and what a second had
// left over does not come later.
func (j *reader) shape(e *element) plan.Action {
	j.refuseOthers(e, "load_profile")
	j.atStart = true
	defer func() { j.atStart = false }()
	rows := e.prop("load_profile")
	if rows == nil || len(rows.children) == 0 {
		panic(e.at.Invalid("%s has no schedule: rows of a rate, a rate at the end, and seconds", e.title()))
	}
	d := new(shape)
	for _, row := range rows.children {
		n := j.row(row, "a rate, a rate at the end, and seconds", plan.MaxRate, plan.MaxRate, plan.MaxDuration.Seconds())
		own := shapeRow{n[0], n[1], int(n[2])}
		d.rows, d.total = append(d.rows, own), d.total+own.seconds
	}
	if d.total > int(plan.MaxDuration.Seconds()) {
		panic(rows.at.Invalid("the schedule takes longer than %v", plan.MaxDuration))
	}
	return &action{act: func(ctx context.Context, u plan.User) bool {
		_, of := u.Part()
		s := u.State(expr.StateOfBlock, e, func() any { return new(shaped) }).(*shaped)
		at, ok := s.turn(d, u.Now(), max(float64(of), 1))
		if goesOn := u.PauseUntil(ctx, at); ok || !goesOn {
			return goesOn
		}
		u.StopAll(false)
		return false
	}}
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

// rate is how many samplers are sent in a second of the schedule.
func (d *shape) rate(second int) float64 {
	for _, r := range d.rows {
		if second < r.seconds {
			return r.from + float64(second)*(r.to-r.from)/float64(r.seconds)
		}
		second -= r.seconds
	}
	return 0
}

// shaped is where the users of a shape are in its schedule.
type shaped struct {
	mu sync.Mutex
	// The following is guarded by mu.
	begin  time.Time
	second int
	sent   int // in the second
}

// turn is when the next sampler is sent. False: there is none, and when the schedule is over.
func (s *shaped) turn(d *shape, now time.Time, share float64) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begin.IsZero() {
		s.begin = now
	}
	if second := int(now.Sub(s.begin) / time.Second); second > s.second {
		s.second, s.sent = second, 0
	}
	for ; s.second < d.total; s.second, s.sent = s.second+1, 0 {
		rate := d.rate(s.second) / share
		if float64(s.sent) < rate {
			at := s.begin.Add(time.Duration(s.second)*time.Second + time.Duration(float64(s.sent)/rate*float64(time.Second)))
			s.sent++
			return slices.MaxFunc([]time.Time{at, now}, time.Time.Compare), true
		}
	}
	return s.begin.Add(time.Duration(d.total) * time.Second), false
}
