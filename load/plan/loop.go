package plan

import (
	"math"
	"strconv"
	"strings"
	"time"

	"whittle/load/expr"
)

// LoopRange parses "5" or "3-8"; as in Artillery, the end is exclusive.
func LoopRange(s string) (first, count int64, ok bool) {
	s = strings.TrimSpace(s)
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		from, to = "0", s
	}
	a, err1 := strconv.ParseFloat(strings.TrimSpace(from), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(to), 64)
	if err1 != nil || err2 != nil || a != math.Trunc(a) || b != math.Trunc(b) || a < 0 || b > MaxLoops || a > b {
		return 0, 0, false
	}
	return int64(a), int64(b - a), true
}

// Length is how long this pause is for this user.
func (t *Think) Length(s *expr.Scope) time.Duration {
	d := t.Pause
	if t.Text != nil {
		var ok bool
		if d, ok = ParseDuration(string(t.Text.Render(nil, s))); !ok || d < 0 || d > MaxDuration {
			return 0 // as in Artillery: a text that is no number is no pause
		}
	}
	if by := float64(t.Jitter) + t.JitterPart*float64(d); by > 0 {
		d += time.Duration((2*s.RNG.Float64() - 1) * by)
	}
	return max(d, 0)
}
