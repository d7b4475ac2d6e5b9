package whittle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Ledger accounts for every request of a route that has a candidate:
// Total = Compared + the sum of Skipped + Failed + Shed + Pending, and Pending
// is 0 at rest.
type Ledger struct {
	Total    int64            `json:"total"`
	Compared int64            `json:"compared"`
	Skipped  map[string]int64 `json:"skipped"`
	// Failed counts mirrored calls in which a side gave no response to compare.
	Failed int64 `json:"failed"`
	Shed   int64 `json:"shed"`
	// Pending counts requests without a fate. All but Unknown of them are under way. Unknown
	// counts a fleet's: their gateway is silent, or sent them and the leader has not judged
	// them. A leader that lags still judges them, unless the fleet's store has lost them.
	Pending int64 `json:"pending"`
	Unknown int64 `json:"unknown,omitempty"`
	// Since is when the counting began. Zero: not known.
	Since time.Time `json:"since,omitzero"`
	// Gap is the last time in which requests were not counted. Nil: there was none.
	Gap *Gap `json:"gap,omitempty"`
}

// Gap is a time whose requests are not in a ledger: from the last report saved before
// whittle ended to its next start.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Gateway is the one whose requests are missing. Empty: those of all.
	Gateway string `json:"gateway,omitempty"`
}

// Counts is a gateway's report of a route. It has totals since the run began, not
// differences, so a report that is lost or arrives twice changes nothing.
type Counts struct {
	// Run identifies the process whose counters these are. 0: there is no report.
	Run uint64 `json:"run"`
	// Seq numbers the run's reports. A report whose number is not above the last is stale.
	Seq uint64 `json:"seq"`
	// Ledger has the fates that the gateway itself knows. Exchanges that it has handed over
	// for comparison are pending here: their fate is counted with the evidence.
	Ledger Ledger `json:"ledger"`
	// Sent counts the pending requests that were handed over for comparison. The gateway
	// hears nothing more of them.
	Sent int64 `json:"sent,omitempty"`
	// At is when a gateway of a fleet made the report. Over says that it is the run's last.
	At   time.Time `json:"at,omitzero"`
	Over bool      `json:"over,omitempty"`
}

// Fate is the part of a ledger in which a request ends.
type Fate uint8

// The fates.
const (
	FateCompared Fate = iota
	FateSkipped       // with a reason
	FateFailed
	FateShed
)

// Fate is the part of the ledger in which an observed exchange ends. A side that gave no
// response is evidence, but leaves nothing to compare.
func (o *Observation) Fate(x *Exchange) (f Fate, reason string) {
	switch {
	case x.Monolith.Failure != NoFailure:
		return FateSkipped, cmp.Or(o.Skip, SkipMonolith)
	case x.Candidate.Failure != NoFailure:
		return FateFailed, ""
	case o.Skip != "":
		return FateSkipped, o.Skip
	}
	return FateCompared, ""
}

// maxReasons bounds the reasons of a ledger; otherReasons has those beyond it.
const (
	maxReasons   = 64
	otherReasons = "other"
)

// Settle counts requests by their fate. It does not change Total and Pending.
func (l *Ledger) Settle(f Fate, reason string, n int64) {
	switch f {
	case FateCompared:
		l.Compared += n
	case FateFailed:
		l.Failed += n
	case FateShed:
		l.Shed += n
	case FateSkipped:
		if l.Skipped == nil {
			l.Skipped = map[string]int64{}
		}
		if _, known := l.Skipped[reason]; !known && len(l.Skipped) >= maxReasons {
			reason = otherReasons
		}
		l.Skipped[reason] += n
	}
}

// Add adds another ledger's counts, but not its times.
func (l *Ledger) Add(o *Ledger) {
	l.Total += o.Total
	l.Pending += o.Pending
	l.Unknown += o.Unknown
	l.Settle(FateCompared, "", o.Compared)
	l.Settle(FateFailed, "", o.Failed)
	l.Settle(FateShed, "", o.Shed)
	for _, reason := range slices.Sorted(maps.Keys(o.Skipped)) {
		l.Settle(FateSkipped, reason, o.Skipped[reason])
	}
}

// Account writes the ledger so that it can be added up by eye:
// "12 = 10 compared + 2 skipped (sampled) + 0 failed + 0 shed".
func (l *Ledger) Account() string {
	parts := []string{fmt.Sprintf("%d compared", l.Compared)}
	for _, reason := range slices.Sorted(maps.Keys(l.Skipped)) {
		if n := l.Skipped[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d skipped (%s)", n, reason))
		}
	}
	parts = append(parts, fmt.Sprintf("%d failed", l.Failed), fmt.Sprintf("%d shed", l.Shed))
	if n := l.Pending - l.Unknown; n > 0 {
		parts = append(parts, fmt.Sprintf("%d under way", n))
	}
	if l.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d unknown", l.Unknown))
	}
	return fmt.Sprintf("%d = %s", l.Total, strings.Join(parts, " + "))
}

// Why a request was not compared.
const (
	SkipNotSafe      = "not_safe"      // the write contract forbids mirroring
	SkipSampled      = "sampled"       // outside the sample
	SkipTooLarge     = "too_large"     // a body above the copy's bound
	SkipStreaming    = "streaming"     // an upgrade, an event stream, a request that pauses
	SkipCanceled     = "canceled"      // the client went away
	SkipServed       = "served"        // served by the candidate, outside the watch sample
	SkipOff          = "off"           // the route is switched off
	SkipUntranslated = "untranslated"  // the request has no meaning in the contract
	SkipInterrupted  = "interrupted"   // whittle itself was ended in between
	SkipUnjudged     = "unjudged"      // sent to whoever judges for the fleet, who had not judged it when its gateway's process was over
	SkipStale        = "stale"         // begun before the evidence was, so perhaps of another candidate
	SkipMonolith     = "monolith_down" // the monolith gave no response to compare with
	SkipUnread       = "unread"        // answered before the request's body was read whole
	SkipEncoded      = "encoded"       // in a content encoding that is not read here
	SkipCutOff       = "cut_off"       // nobody who judges for the fleet could be reached
	SkipUnknown      = "unknown"       // seen to go by, but not to its end: the stream that told of it was lost
	SkipPreview      = "preview"       // a tester's, sent to the candidate by a preview token
)

// Sum adds up everything but Total.
func (l *Ledger) Sum() int64 {
	n := l.Compared + l.Failed + l.Shed + l.Pending
	for _, v := range l.Skipped {
		n += v
	}
	return n
}
