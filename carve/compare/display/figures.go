package display

import (
	"fmt"
	"math"
	"strconv"

	"whittle"
	"whittle/internal/units"
)

// Figure writes a float with four significant digits, or all of an integer.
func Figure(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "no number"
	case math.Abs(f) >= 1e15 || f != 0 && math.Abs(f) < 1e-4:
		return strconv.FormatFloat(f, 'g', 4, 64)
	case f == math.Trunc(f) || math.Abs(f) >= 999.95: // without decimals
		return units.Grouped(int(math.RoundToEven(f)))
	}
	return strconv.FormatFloat(f, 'f', 3-int(math.Floor(math.Log10(math.Abs(f)))), 64)
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

// PercentRange writes from which to which share in whole percents.
func PercentRange(low, high float64) string { return fmt.Sprintf("%.0f to %.0f %%", 100*low, 100*high) }

// Reason is a declaration's reason in words, never empty.
func Reason(e whittle.Expectation) string {
	if e.Reason == "" {
		return "declared in the config"
	}
	return e.Reason
}

// Of says how many of how many.
func Of(n, m int) string { return fmt.Sprintf("%d of %d", n, m) }
