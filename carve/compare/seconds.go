package compare

import "time"

// seconds counts the different seconds with a compared exchange. Exchanges of one
// second have much in common: the data, the load, a fault that comes and goes. A
// fault that returns at least every n seconds has shown itself once n seconds were
// counted, with the probability that one exchange meets it.
type seconds struct {
	N    int       `json:"n"`
	Last time.Time `json:"last"`
}

// see takes an exchange. One that is older than the last says nothing new.
func (s *seconds) see(at time.Time) {
	if now := at.Truncate(time.Second); now.After(s.Last) {
		s.N++
		s.Last = now
	}
}

func (s *seconds) valid() bool { return s.N >= 0 && (s.N == 0) == s.Last.IsZero() }
