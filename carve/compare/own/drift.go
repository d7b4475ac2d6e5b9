package own

import "time"

// Bounds of drift. A state that moves once a minute stays as it is for watched with a chance of
// 0.7 %. Simulations: TestStatesThatMoveRaiseNoAlarm, TestAWrongElementAmongNoise.
const (
	// Apart is how far apart two responses to a request are at least that are to show whether
	// a state moves, Enough how many of them are wanted, and watched over what time.
	Apart   = time.Minute
	Enough  = 8
	watched = 5 * time.Minute
	// factor is by how much less they must differ than the candidate's response does.
	factor = 10
	// Seldom is in which share of exchanges the monolith's two responses may differ where
	// bets need no gate.
	Seldom = 0.1
	// returns is how many moves may be taken back for each that is not, and often how many
	// times as often as at once the monolith must have moved between two looks for time to
	// have moved it. Once at once may be by chance.
	returns = 3
	often   = 2
)

// Drift says how what the monolith changes by itself at a place lies in time. It counts
// the values that differ between the monolith's two responses of one exchange, between the
// monolith's response and the candidate's, and between the monolith's and its own to the
// same request at least Apart before.
type Drift struct {
	Now, Candidate, Later Mean
	// Moved is the share of looks between which the monolith's value is another one, AtOnce of
	// those within an instant; varies is that of its two responses of one exchange.
	Moved, AtOnce, varies Mean
	// Stayed counts moves that were seen to last, or to go on, and Returned those after
	// which all was as before.
	Stayed, Returned int
	Moves            Moves
	since, until     time.Time
	log              bool // see Watch
}

// See takes note of how far both sides are off in a repeated exchange.
func (d *Drift) See(candidate, self int) {
	d.Candidate.See(candidate)
	d.Now.See(self)
	d.varies.See(min(self, 1))
}

// Watch takes note that a place at which the candidate differs was looked at. A log is as
// long as it is, so nobody waits for more of it.
func (d *Drift) Watch(at time.Time, log bool) {
	d.log = log
	if d.since.IsZero() || at.Before(d.since) {
		d.since = at
	}
	d.until = at
}

// Brief reports whether the place has been watched for too short a time for a state that
// moves once a minute to be seen, and nothing shows that there is none.
func (d *Drift) Brief() bool {
	after := d.until.Sub(d.since)
	return after > 0 && after < Early && !d.log && !d.Moves.Shown()
}

// Known reports whether enough was seen of other times.
func (d *Drift) Known() bool { return d.Later.n >= Enough && d.until.Sub(d.since) >= watched }

// nears reports whether the monolith's own responses at other times differ at hardly more
// places than its two responses of one exchange: by a tenth at most of the places at which the
// candidate's response differs beyond those.
func (d *Drift) nears() bool {
	return factor*(d.Later.Value()-d.Now.Value()) <= d.Candidate.Value()-d.Now.Value()
}

// NoState reports whether it is shown that no state of each server's moves here.
func (d *Drift) NoState() bool { return d.Known() && d.nears() || d.Moves.Shown() }

// lasting reports whether what has moved was moved by time, and does not merely vary from
// response to response: then it would do so at once as often, and be as before at the next
// look.
func (d *Drift) lasting() bool {
	once, of := d.varies.sum+d.AtOnce.sum, d.varies.n+d.AtOnce.n
	return d.Returned <= returns*d.Stayed && d.Moved.sum*max(1, of) > often*max(0, once-1)*d.Moved.n
}

// Own reports whether either side's values move without the other's.
func (d *Drift) Own() bool {
	return d.Now.n >= Enough && d.varies.Value() <= Seldom && d.lasting() && d.Moves.Parted()
}

// Explains reports whether a state that each server holds by itself may be why the
// candidate differs more often than the monolith from itself, of which so many repeats
// did: the monolith's values move, and neither is that too little, nor shown that the
// candidate's are of the same data, or are none that move as the monolith's do.
func (d *Drift) Explains(self int) bool {
	switch {
	case d.Moves.Shown():
		return false
	case self > 0 && d.Later.n >= Enough:
		return !d.nears()
	}
	return d.Moved.sum > 0 && d.lasting() && (!d.Known() || !d.nears())
}

// Mean is a mean that Fades, so that a change shows.
type Mean struct{ sum, n float64 }

// See takes a count.
func (m *Mean) See(x int) {
	m.sum += float64(x)
	if m.n++; m.n > Fades {
		m.sum, m.n = m.sum/2, m.n/2
	}
}

// Value is the mean; 0 where there is none.
func (m *Mean) Value() float64 { return m.sum / max(1, m.n) }

// N is over how many, the last ones.
func (m *Mean) N() float64 { return m.n }
