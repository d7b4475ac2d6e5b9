package compare

import "time"

// seconds counts the different seconds in which something was compared. Exchanges of
// one second are alike: the same data, the same load, the same fault that comes and
// goes. So a fault that comes back at least every so many seconds has shown itself,
// with the chance that one exchange has of meeting it, once as many were counted.
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
