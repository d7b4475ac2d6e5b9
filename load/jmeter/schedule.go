package jmeter

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// maxSchedule bounds the text of an open model's schedule.
const maxSchedule = 64 << 10

// parseSchedule reads the schedule of JMeter's OpenModelThreadGroup: rate(n/sec),
// random_arrivals(time), even_arrivals(time) and pause(time), with comments.
// Arrivals go from the rate before them to the rate after them in a straight
// line, and keep the one before where none follows.
func parseSchedule(src string) ([]plan.Phase, error) {
	if len(src) > maxSchedule {
		return nil, fmt.Errorf("a schedule has at most %d bytes", maxSchedule)
	}
	words, err := scheduleWords(src)
	if err != nil {
		return nil, err
	}
	p := scheduleParser{words: words}
	for len(p.words) > 0 {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	if len(p.phases) == 0 {
		return nil, fmt.Errorf("a schedule has arrivals")
	}
	if plan.TotalLength(p.phases) > plan.MaxDuration {
		return nil, fmt.Errorf("the schedule takes longer than %v", plan.MaxDuration)
	}
	return p.phases, nil
}

// scheduleWords splits a schedule into names, numbers and signs.
func scheduleWords(src string) ([]string, error) {
	var out []string
	for src != "" {
		switch c := src[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			src = src[1:]
		case strings.HasPrefix(src, "//"):
			_, src, _ = strings.Cut(src, "\n")
		case strings.HasPrefix(src, "/*"):
			_, rest, ok := strings.Cut(src[2:], "*/")
			if !ok {
				return nil, fmt.Errorf("/* without */")
			}
			src = rest
		case c == '(' || c == ')' || c == '/':
			out, src = append(out, src[:1]), src[1:]
		default:
			n := 0
			number := c >= '0' && c <= '9' || c == '.'
			for n < len(src) {
				c := src[n] | 0x20
				digit, letter := src[n] >= '0' && src[n] <= '9', c >= 'a' && c <= 'z' || src[n] == '_'
				if !digit && (!number || src[n] != '.') && (number || !letter) {
					break
				}
				n++
			}
			if n == 0 {
				return nil, fmt.Errorf("%.20q is not understood", src)
			}
			out, src = append(out, strings.ToLower(src[:n])), src[n:]
		}
	}
	return out, nil
}

type scheduleParser struct {
	words  []string
	rate   float64 // arrivals per second
	open   bool    // the last phase takes its end from the rate that follows
	phases []plan.Phase
}

func (p *scheduleParser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *scheduleParser) expect(sign string) error {
	if w := p.next(); w != sign {
		return fmt.Errorf("%q is wanted, not %q", sign, w)
	}
	return nil
}

func (p *scheduleParser) step() error {
	name := p.next()
	if err := p.expect("("); err != nil {
		return err
	}
	var err error
	switch name {
	case "rate":
		err = p.setRate()
	case "random_arrivals", "even_arrivals":
		var d time.Duration
		d, err = p.time()
		p.phases = append(p.phases, plan.Phase{
			Duration: d, Rate: p.rate, RampTo: p.rate, Linear: true, Poisson: name == "random_arrivals",
		})
		p.open = true
	case "pause":
		var d time.Duration
		d, err = p.time()
		p.phases = append(p.phases, plan.Phase{Duration: d})
		p.open = false
	default:
		return fmt.Errorf("%q is not known; known are rate, random_arrivals, even_arrivals and pause", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return p.expect(")")
}

func (p *scheduleParser) setRate() error {
	n, err := p.number()
	if err != nil {
		return err
	}
	unit := time.Second
	if n != 0 || len(p.words) > 0 && p.words[0] != ")" {
		if w := p.next(); w != "/" && w != "per" {
			return fmt.Errorf("a rate is a number per unit of time, such as 5/sec")
		}
		if unit, err = p.unit(); err != nil {
			return err
		}
	}
	if p.rate = n / unit.Seconds(); p.rate > plan.MaxRate {
		return fmt.Errorf("more than %v a second", plan.MaxRate)
	}
	if p.open {
		p.phases[len(p.phases)-1].RampTo = p.rate
		p.open = false
	}
	return nil
}

// time reads a number of units, of which several add up: 1 min 30 sec.
func (p *scheduleParser) time() (time.Duration, error) {
	var sum float64
	for {
		n, err := p.number()
		if err != nil {
			return 0, err
		}
		unit := time.Second
		if n != 0 || len(p.words) > 0 && p.words[0] != ")" {
			if unit, err = p.unit(); err != nil {
				return 0, err
			}
		}
		if sum += n * float64(unit); sum > float64(plan.MaxDuration) {
			return 0, fmt.Errorf("longer than %v", plan.MaxDuration)
		}
		if len(p.words) == 0 || p.words[0] == ")" {
			return time.Duration(math.Round(sum)), nil
		}
	}
}

func (p *scheduleParser) number() (float64, error) {
	w := p.next()
	n, err := strconv.ParseFloat(w, 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("a number is wanted, not %q", w)
	}
	return n, nil
}

func (p *scheduleParser) unit() (time.Duration, error) {
	w := p.next()
	if u, ok := plan.Unit(w); ok && w != "" {
		return u, nil
	}
	return 0, fmt.Errorf("%q is not a unit of time", w)
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
		if len(row.children) < 3 {
			panic(row.at.Invalid("a row is a rate, a rate at the end, and seconds"))
		}
		var n [3]float64
		for i := range n {
			f, err := strconv.ParseFloat(j.constantText(row.children[i]), 64)
			if most := []float64{plan.MaxRate, plan.MaxRate, plan.MaxDuration.Seconds()}[i]; err != nil || !(f >= 0) || f > most {
				panic(row.children[i].at.Invalid("%q is not a rate or a number of seconds", row.children[i].content()))
			}
			n[i] = f
		}
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
