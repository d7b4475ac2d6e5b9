package gateway

import (
	"math/rand/v2"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
)

// skipNames are the known reasons of gateway and judge. Each has a counter that is
// found without a lock.
var skipNames = [...]string{
	whittle.SkipNotSafe, whittle.SkipSampled, whittle.SkipTooLarge, whittle.SkipStreaming,
	whittle.SkipCanceled, whittle.SkipServed, whittle.SkipOff, whittle.SkipUntranslated,
	whittle.SkipInterrupted, whittle.SkipStale, whittle.SkipMonolith, whittle.SkipUnread,
	whittle.SkipEncoded, whittle.SkipPreview, whittle.SkipCutOff, whittle.SkipUnknown,
}

// maxOtherReasons bounds the number of other reasons that Observe may give.
const maxOtherReasons = 32

// otherReasons is where reasons beyond that bound are counted.
const otherReasons = "other"

// ledger counts the fates of a route's requests in this run of the gateway. Total = Sum
// holds in every snapshot, because Pending is no counter: it is the number opened less
// the number settled.
type ledger struct {
	opened atomic.Int64
	// own has the fates that only the gateway counts. judged has those of exchanges that
	// control has Counted, or may still count.
	own, judged fates
	// sent are those that control has Counted.
	sent atomic.Int64

	mu sync.Mutex // guards the following
	// run names the counters' life and seq its last report.
	run, seq uint64
}

// fates counts requests by their fate.
type fates struct {
	compared atomic.Int64
	failed   atomic.Int64
	shed     atomic.Int64
	skipped  [len(skipNames)]atomic.Int64

	mu     sync.Mutex // guards the following
	others map[string]int64
}

// ledgerEntry is one request's place in the ledger. It moves from the user's
// goroutine to the queue and on to a worker; the first to settle or claim it counts
// it, so a shutdown may settle what a worker still holds.
type ledgerEntry struct {
	ledger *ledger
	state  atomic.Int32
}

// The states of an entry.
const (
	entryOpen    int32 = iota
	entryClaimed       // control has the exchange, and will count it
	entrySettled
)

// open begins the account of one request.
func (l *ledger) open(t *ledgerEntry) {
	t.ledger = l
	l.opened.Add(1)
}

// claim reports whether the caller may pass the exchange to Observe; observed must
// follow.
func (t *ledgerEntry) claim() bool { return t.state.CompareAndSwap(entryOpen, entryClaimed) }

// observed counts a request that was claimed; counted: control has counted it.
func (t *ledgerEntry) observed(f whittle.Fate, reason string, counted bool) {
	switch {
	case !t.state.CompareAndSwap(entryClaimed, entrySettled): // given up meanwhile
	case counted:
		t.ledger.sent.Add(1)
		t.ledger.judged.add(f, reason, 1)
	default:
		t.ledger.own.add(f, reason, 1)
	}
}

// settle counts a request, unless it is settled. A claimed one is given up, but stays
// pending in reports, because control may still count it.
func (t *ledgerEntry) settle(f whittle.Fate, reason string) {
	switch {
	case t.state.CompareAndSwap(entryOpen, entrySettled):
		t.ledger.own.add(f, reason, 1)
	case t.state.CompareAndSwap(entryClaimed, entrySettled):
		t.ledger.judged.add(f, reason, 1)
	}
}

func (t *ledgerEntry) failed()            { t.settle(whittle.FateFailed, "") }
func (t *ledgerEntry) shed()              { t.settle(whittle.FateShed, "") }
func (t *ledgerEntry) skip(reason string) { t.settle(whittle.FateSkipped, reason) }

func (c *fates) add(f whittle.Fate, reason string, n int64) {
	switch f {
	case whittle.FateCompared:
		c.compared.Add(n)
	case whittle.FateFailed:
		c.failed.Add(n)
	case whittle.FateShed:
		c.shed.Add(n)
	case whittle.FateSkipped:
		c.skip(reason, n)
	}
}

func (c *fates) skip(reason string, n int64) {
	for i, name := range skipNames {
		if name == reason {
			c.skipped[i].Add(n)
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.others == nil {
		c.others = map[string]int64{}
	}
	if _, known := c.others[reason]; !known && len(c.others) >= maxOtherReasons {
		reason = otherReasons
	}
	c.others[reason] += n
}

// addTo adds the counts to a ledger, but for its total.
func (c *fates) addTo(s *whittle.Ledger) {
	s.Compared += c.compared.Load()
	s.Failed += c.failed.Load()
	s.Shed += c.shed.Load()
	for i, name := range skipNames {
		if n := c.skipped[i].Load(); n > 0 {
			s.Settle(whittle.FateSkipped, name, n)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for reason, n := range c.others {
		s.Settle(whittle.FateSkipped, reason, n)
	}
}

// snapshot is the ledger of this run.
func (l *ledger) snapshot() whittle.Ledger { return l.read(&l.own, &l.judged) }

// read reads what is settled before what is opened: settled counts only rise and
// never pass opened, so Pending cannot come out negative.
func (l *ledger) read(parts ...*fates) whittle.Ledger {
	s := whittle.Ledger{Skipped: map[string]int64{}}
	for _, c := range parts {
		c.addTo(&s)
	}
	settled := s.Sum()
	s.Total = l.opened.Load()
	s.Pending = s.Total - settled
	return s
}

// report gives the gateway's own counts, with a sequence number. In the report with the
// higher number no count is lower.
func (l *ledger) report() whittle.Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.run == 0 {
		l.run = rand.Uint64()
	}
	l.seq++
	sent := l.sent.Load() // before what is pending, so that these are among it
	return whittle.Counts{Run: l.run, Seq: l.seq, Sent: sent, Ledger: l.read(&l.own)}
}

// latencyBounds are the upper bounds of the latency buckets, in seconds.
var latencyBounds = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// meter counts one rule's requests. The rule has a pointer to it, so counting costs a
// few atomic additions and no look-up.
type meter struct {
	// class counts what clients got by the status's first digit; 0: none.
	class   [6]atomic.Int64
	buckets [len(latencyBounds) + 1]atomic.Int64
	// nanos is the sum of all times.
	nanos   atomic.Int64
	running atomic.Int64
}

func meterOf(earlier *entry) *meter {
	if earlier != nil {
		return earlier.meter
	}
	return &meter{}
}

func (m *meter) add(sent int, took time.Duration) {
	class := sent / 100
	if class < 0 || class >= len(m.class) {
		class = 0
	}
	m.class[class].Add(1)
	m.buckets[sort.SearchFloat64s(latencyBounds[:], took.Seconds())].Add(1)
	m.nanos.Add(int64(took))
}

// counts are the gateway's own, whatever the route.
type counts struct {
	loops   atomic.Int64 // requests that came back
	inBytes atomic.Int64 // requests that went in bytes
}

// routeCounts are the counts of a route that its ledger does not keep; whoever owns the
// ledger shows that.
type routeCounts struct {
	served, fellBack, diverted, unseen, trips atomic.Int64
	// full counts those of diverted for which the bound on exposure had no room;
	// fullLogged and servedLogged are what the last line of the log was about.
	full, fullLogged, servedLogged atomic.Int64
	// Of requests with a preview token: previewed were served by the candidate,
	// unsigned had no valid one, and withheld were the monolith's all the same.
	previewed, unsigned, withheld atomic.Int64
	// heldByGroup counts users' requests that the route's own share would send to the
	// candidate, and the least share of its group does not.
	heldByGroup atomic.Int64
}
