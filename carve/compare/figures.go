package compare

import (
	"math"
	"strconv"
	"strings"
)

// commas sets off the thousands of a decimal number: 4,294,967,296.
func commas(s string) string {
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

// figure writes a float with four significant digits, or all of an integer.
func figure(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "no number"
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return commas(strconv.FormatFloat(f, 'f', 0, 64))
	case math.Abs(f) >= 1e15 || math.Abs(f) < 1e-4:
		return strconv.FormatFloat(f, 'g', 4, 64)
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(f))))
	return commas(strconv.FormatFloat(f, 'f', max(0, digits), 64))
}

// inPercent writes a share or a relative difference.
func inPercent(f float64) string {
	p := 100 * f
	digits := 0
	if a := math.Abs(p); a > 0 && a < 100 {
		digits = min(6, max(0, 1-int(math.Floor(math.Log10(a)))))
	}
	return strconv.FormatFloat(p, 'f', digits, 64) + " %"
}
