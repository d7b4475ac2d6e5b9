package load

// runCounts is what a run has counted so far, without the distributions: small
// enough to be added up at every sample.
type runCounts struct {
	requests, sent, received  int64
	finished, failed, skipped int64 // virtual users; failed ones ended by an error
	codes                     map[int]int64
	errors                    map[string]int64
}

// add adds o times a factor; −1 subtracts it. Counts that come to 0 are left out.
func (l *runCounts) add(o *runCounts, times int64) {
	l.requests += times * o.requests
	l.sent += times * o.sent
	l.received += times * o.received
	l.finished += times * o.finished
	l.failed += times * o.failed
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

// counts adds up what all shards have counted.
func (s *execution) counts() runCounts {
	var l runCounts
	for _, sh := range s.recorder.shards {
		sh.mu.Lock()
		for i := range sh.sum.names {
			f := &sh.sum.names[i]
			l.requests += f.requests
			l.sent += f.sent
			l.received += f.received
		}
		l.codes = addCounts(l.codes, sh.sum.codes, 1)
		l.errors = addCounts(l.errors, sh.sum.errors, 1)
		sh.mu.Unlock()
	}
	l.finished, l.failed, l.skipped = s.finished.Load(), s.failed.Load(), s.skipped.Load()
	return l
}
