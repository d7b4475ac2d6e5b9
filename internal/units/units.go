// Package units writes counts, shares and sizes for a person to read. A space
// stands before a unit, as in "12 %" and "3 MiB".
package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Grouped writes a count with its thousands apart: "12,000".
func Grouped(n int) string {
	s := strconv.Itoa(n)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Counted writes a number of things: "1 segment", "2 segments", "3 entries".
func Counted[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok && !strings.HasSuffix(stem, "a") { // queries, gateways
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Percent writes a share from 0 to 1 in whole percents, below ten of them with
// one digit after the point, "7.5 %", below one with two figures, "0.25 %", and
// no less than "0.01 %" for what is above 0.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.0001:
		return "0.01 %"
	case share < 0.01:
		return fmt.Sprintf("%.2g %%", 100*share)
	case share < 0.0995:
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Size writes a number of bytes in whole units, of which there are ten at least:
// "10239 B", "10 KiB".
func Size(n int64) string {
	for _, unit := range [...]string{"B", "KiB", "MiB"} {
		if n < 10<<10 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		n >>= 10
	}
	return fmt.Sprintf("%d GiB", n)
}

// Volume writes a number of bytes that went by, with one digit after the point:
// "512 B", "2.0 KiB", "1.5 TiB".
func Volume(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, u := range [...]string{"Ki", "Mi", "Gi", "Ti"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	return fmt.Sprintf("%.1f %sB", f, unit)
}

// Plain writes a number as JSON.stringify would: no exponent where a person
// would not write one.
func Plain(f float64) string {
	if f > -1e15 && f < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// Span writes a duration without the zeros that time.Duration keeps: "5m".
func Span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Figure writes a measured figure with three digits, and no fewer before the
// point than there are.
func Figure(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f >= 1:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.3f", f)
}
