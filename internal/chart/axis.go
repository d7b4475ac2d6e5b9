package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// axis maps values low..high to places from..to.
type axis struct {
	low, high float64
	from, to  float64
	ticks     []float64
	log       bool
}

func (a axis) position(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log10(v), math.Log10(low), math.Log10(high)
	}
	f := (v - low) / (high - low)
	f = math.Min(math.Max(f, 0), 1)
	return a.from + f*(a.to-a.from)
}

// linearAxis runs over at least low..high, to round ends.
func linearAxis(low, high float64) axis {
	if !(high > low) {
		high = low + 1
	}
	step := niceStep((high - low) / 5)
	low = math.Floor(low/step) * step
	high = math.Ceil(high/step) * step
	return axis{low: low, high: high, ticks: ticksBetween(low, high, step)}
}

// fixedAxis runs over exactly low..high.
func fixedAxis(low, high float64) axis {
	if !(high > low) {
		high = low + 1
	}
	return axis{low: low, high: high, ticks: ticksBetween(low, high, niceStep((high-low)/6))}
}

// logAxis runs over whole powers of ten around low..high, both above zero.
func logAxis(b bounds) axis {
	from := math.Floor(math.Log10(b.low))
	to := math.Max(math.Ceil(math.Log10(b.high)), from+1)
	a := axis{low: math.Pow(10, from), high: math.Pow(10, to), log: true}
	every := math.Ceil((to - from) / 7)
	for e := from; e <= to; e += every {
		a.ticks = append(a.ticks, math.Pow(10, e))
	}
	return a
}

// niceStep rounds up to 1, 2 or 5 times a power of ten.
func niceStep(raw float64) float64 {
	if !(raw > 0) || math.IsInf(raw, 1) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func ticksBetween(low, high, step float64) []float64 {
	var out []float64
	first := math.Ceil(low/step - 1e-9)
	for i := 0.0; i < 50; i++ {
		t := (first + i) * step
		if t > high+step*1e-6 {
			break
		}
		out = append(out, t)
	}
	return out
}

// Number writes a figure for people: three significant digits or all whole
// ones, thousands apart, no exponent within reason.
func Number(f float64) string {
	a := math.Abs(f)
	switch {
	case !finite(f):
		return "–"
	case a == 0 || a < 1e-9:
		return "0"
	case a >= 1e15:
		return strconv.FormatFloat(f, 'g', 3, 64)
	case a >= 999.5:
		return grouped(strconv.FormatFloat(f, 'f', 0, 64))
	}
	decimals := max(2-int(math.Floor(math.Log10(a)+1e-9)), 0)
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return strings.Replace(s, "-", "−", 1)
}

// grouped puts a comma before every three digits.
func grouped(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Milliseconds writes a duration that is given in milliseconds.
func Milliseconds(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.1f ms", ms)
	}
}
