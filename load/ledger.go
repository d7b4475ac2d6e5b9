package load

// ledger is what a run has counted so far, without the distributions: small
// enough to be added up at every look.
type ledger struct {
	requests, up, down        int64
	finished, broken, skipped int64 // virtual users; broken ended by an error
	codes                     map[int]int64
	errors                    map[string]int64
}

// add adds times as much as o holds; −1 takes it away. What comes to 0 is left
// out.
func (l *ledger) add(o *ledger, times int64) {
	l.requests += times * o.requests
	l.up += times * o.up
	l.down += times * o.down
	l.finished += times * o.finished
	l.broken += times * o.broken
	l.skipped += times * o.skipped
	l.codes = addCounts(l.codes, o.codes, times)
	l.errors = addCounts(l.errors, o.errors, times)
}

func addCounts[K comparable](to, from map[K]int64, times int64) map[K]int64 {
	if to == nil && len(from) > 0 {
		to = make(map[K]int64, len(from))
	}
	for k, n := range from {
		if to[k] += times * n; to[k] == 0 {
			delete(to, k)
		}
	}
	return to
}

// ledger adds up what all shards have counted.
func (s *session) ledger() ledger {
	var l ledger
	for _, sh := range s.shards {
		sh.mu.Lock()
		for i := range sh.sum.names {
			f := &sh.sum.names[i]
			l.requests += f.requests
			l.up += f.up
			l.down += f.down
		}
		l.codes = addCounts(l.codes, sh.sum.codes, 1)
		l.errors = addCounts(l.errors, sh.sum.errors, 1)
		sh.mu.Unlock()
	}
	l.finished, l.broken, l.skipped = s.finished.Load(), s.failed.Load(), s.skipped.Load()
	return l
}
