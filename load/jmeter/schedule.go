package jmeter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

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
