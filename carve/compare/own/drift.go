package own

import "time"

// Bounds of drift. Simulation: TestStatesThatMoveRaiseNoAlarm.
const (
	// Enough is how many repeats are wanted before anything is said of them.
	Enough = 8 // repeats
	// Seldom is in which share of exchanges the monolith's two responses may differ where
	// bets decide.
	Seldom = 0.1
	// returns is how many moves may be taken back for each that is not, and often how many
	// times as often as at once the monolith must have moved between two looks for time to
	// have moved it. Once at once may be by chance.
	returns = 3
	often   = 2
)

// Drift says how what the monolith changes by itself at a place lies in time.
type Drift struct {
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

// See takes note of a repeated exchange, in which the monolith differed from itself or not.
func (d *Drift) See(self int) { d.varies.See(min(self, 1)) }

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

// lasting reports whether what has moved was moved by time, and does not merely vary from
// response to response: then it would do so at once as often, and be as before at the next
// look.
func (d *Drift) lasting() bool {
	once, of := d.varies.sum+d.AtOnce.sum, d.varies.n+d.AtOnce.n
	return d.Returned <= returns*d.Stayed && d.Moved.sum*max(1, of) > often*max(0, once-1)*d.Moved.n
}

// Own reports whether either side's values move without the other's.
func (d *Drift) Own() bool {
	return d.varies.n >= Enough && d.varies.Value() <= Seldom && d.lasting() && d.Moves.Parted()
}

// Explains reports whether a state that each server holds by itself may be why the
// candidate differs more often than the monolith from itself: the monolith's values move, and
// it is not shown that the candidate's are of the same data, or are none that move as they do.
func (d *Drift) Explains() bool { return !d.Moves.Shown() && d.Moved.sum > 0 && d.lasting() }

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
