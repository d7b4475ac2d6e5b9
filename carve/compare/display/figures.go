package display

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"whittle"
)

// Commas sets off the thousands of a decimal number: 4,294,967,296.
func Commas(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest, dot := strings.Cut(s, ".")
	if strings.ContainsAny(whole, "eE") {
		return sign + s
	}
	var b strings.Builder
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if dot {
		b.WriteString("." + rest)
	}
	return sign + b.String()
}

// Figure writes a float with four significant digits, or all of an integer.
func Figure(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "no number"
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return Commas(strconv.FormatFloat(f, 'f', 0, 64))
	case math.Abs(f) >= 1e15 || math.Abs(f) < 1e-4:
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(f))))
	return Commas(strconv.FormatFloat(f, 'f', max(0, digits), 64))
}

// InPercent writes a share or a relative difference.
func InPercent(f float64) string {
	p := 100 * f
	digits := 0
	if a := math.Abs(p); a > 0 && a < 100 {
		digits = min(6, max(0, 1-int(math.Floor(math.Log10(a)))))
	}
	return strconv.FormatFloat(p, 'f', digits, 64) + " %"
}

// Percent writes a share in percent.
func Percent(p float64) string {
	return strconv.FormatFloat(100*p, 'g', 4, 64) + " %"
}

// PercentUp rounds up, so that a bound stays one.
func PercentUp(p float64) string {
	const ulp = 1e-12
	if p <= 0 {
		return Percent(0)
	}
	for digits, scale := 1, 1e3; digits < 8; digits, scale = digits+1, scale*10 {
		up := math.Ceil(p*scale-ulp) / scale
		if up <= p*1.05 || up >= 1 {
			return strconv.FormatFloat(100*min(up, 1), 'f', digits, 64) + " %"
		}
	}
	return Percent(p)
}

// Reason is a declaration's reason in words, never empty.
func Reason(e whittle.Expectation) string {
	if e.Reason == "" {
		return "declared in the config"
	}
	return e.Reason
}

// Of says how many of how many.
func Of(n, m int) string { return fmt.Sprintf("%d of %d", n, m) }
