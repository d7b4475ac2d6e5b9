package api

import (
	"sync"
	"time"
)

const (
	tripAfter = 5                // failures in a row that open a breaker
	firstOpen = time.Second      // how long it stays open the first time
	maxOpen   = 30 * time.Second // to which that doubles with each failed probe
)

// breaker stops calls to a service that fails again and again, so that clients
// have their response at once and the service its rest. While it rests nothing
// goes through; then one call at a time, a probe, until one succeeds.
type breaker struct {
	mu       sync.Mutex // guards the following
	failures int        // in a row
	openFor  time.Duration
	until    time.Time // when the next probe may go; zero: closed
	probes   int       // so far
	probe    int       // the one in flight, by its number; 0: none
}

// allow reports whether a call may go now, and else how long not to ask again. probe is
// the call's number where it is a probe, otherwise 0. After each allowed call report or
// forget follows.
func (b *breaker) allow(now time.Time) (ok bool, probe int, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.until.IsZero():
		return true, 0, 0
	case now.Before(b.until):
		return false, 0, b.until.Sub(now)
	case b.probe != 0:
		return false, 0, firstOpen
	}
	b.probes++
	b.probe = b.probes
	return true, b.probe, 0
}

// report says how a call went.
func (b *breaker) report(probe int, failed bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !failed {
		b.failures, b.openFor, b.until, b.probe = 0, 0, time.Time{}, 0
		return
	}
	b.failures++
	open := !b.until.IsZero()
	if open && (probe == 0 || probe != b.probe) || !open && b.failures < tripAfter {
		return // one that was in flight when the breaker opened, or not yet enough
	}
	b.openFor = min(max(2*b.openFor, firstOpen), maxOpen)
	b.until, b.probe = now.Add(b.openFor), 0
}

// forget takes back a call of which nothing was learnt.
func (b *breaker) forget(probe int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe == b.probe {
		b.probe = 0
	}
}

func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.until.IsZero()
}

const (
	maxRetries = 10  // that may be saved up
	retryShare = 0.1 // of calls that may be retried in the long run
)

// budget lets a tenth of calls be retried: enough for a service that fails now
// and then, too little to triple the load of one that is down.
type budget struct {
	mu    sync.Mutex // guards the following
	spent float64
}

func (b *budget) earn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = max(b.spent-retryShare, 0)
}

func (b *budget) spend() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent+1 > maxRetries {
		return false
	}
	b.spent++
	return true
}
