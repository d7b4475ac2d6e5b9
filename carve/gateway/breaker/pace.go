package breaker

import "time"

// pace is how slow good responses of the candidate were lately.
type pace struct {
	// recent is a maximum over the present period, before over the one before. Both
	// fade with each response.
	recent, before time.Duration
	since          time.Time // when the present period began
}

const (
	// fade forgets half of a maximum over about 700 responses.
	fade = 0.999
	// period bounds how long a maximum is remembered where responses are few. Only a
	// period with responses ends another one's, so that a night is none.
	period = 5 * time.Minute
)

func (p *pace) observe(d time.Duration, now time.Time) {
	if now.Sub(p.since) >= period {
		p.before, p.recent, p.since = p.recent, 0, now
	}
	p.recent = max(d, time.Duration(float64(p.recent)*fade))
	p.before = time.Duration(float64(p.before) * fade)
}

// slowest is the slowest response remembered; 0 where there was none.
func (p *pace) slowest() time.Duration { return max(p.recent, p.before) }
