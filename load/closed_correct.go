package load

import (
	"time"

	"whittle/internal/latency"
	"whittle/load/plan"
	"whittle/load/report"
)

// groupPace holds what the correction of a group's latencies needs.
type groupPace struct {
	Actual *latency.Histogram `json:"actual"`
	// Gap is the time from one request of a user to its next.
	Gap *latency.Histogram `json:"gap"`
}

// correctOmission adds to a closed model's latencies what its users would have met had
// they kept their pace while they waited: for each latency d above the expected
// interval i also d−i, d−2i … down to i. It is HdrHistogram's
// copyCorrectedForCoordinatedOmission (Gil Tene,
// https://github.com/HdrHistogram/HdrHistogram), which takes the interval as
// given. Here it is the median time from one request of a user to its next, so
// that stalls, being rare, do not set the pace that they are measured by.
func correctOmission(measured *latency.Histogram, interval time.Duration) (corrected *latency.Histogram, missing int64) {
	corrected = new(latency.Histogram)
	corrected.Merge(measured)
	interval = max(interval, latency.Lowest)
	for _, b := range measured.Bars() {
		d := min(b.To, measured.Quantile(1))
		missing += fillMissing(corrected, d, interval, b.Count)
	}
	return corrected, missing
}

// fillMissing records d−i, d−2i … down to i, n times each. Where i is so short that
// many of them share a bucket of the histogram, they are recorded by bucket.
func fillMissing(h *latency.Histogram, d, interval time.Duration, n int64) (missing int64) {
	for at := d - interval; at >= interval; {
		// Buckets are at least a thousandth of their value wide.
		same := max(int64(at/2048/interval), 1)
		same = min(same, int64((at-interval)/interval)+1)
		h.RecordN(at-time.Duration(same-1)*interval/2, n*same)
		missing += n * same
		at -= time.Duration(same) * interval
	}
	return missing
}

// correctGroups corrects each group of a closed run and puts them together.
func (t *tally) correctGroups(groups []plan.Group) (*latency.Histogram, []report.Pace) {
	whole := new(latency.Histogram)
	var out []report.Pace
	for i := range groups {
		p := t.Paces[i+1]
		if p == nil {
			continue
		}
		pace := report.Pace{Group: groups[i].Name, Users: groups[i].Users}
		h := p.Actual
		if p.Gap.Count() > 0 { // users who send one request have no pace
			interval := p.Gap.Quantile(.5)
			pace.Expected = latency.Milliseconds(interval)
			h, pace.Missing = correctOmission(p.Actual, interval)
		}
		whole.Merge(h)
		out = append(out, pace)
	}
	return whole, out
}

func (t *tally) pace(i int) *groupPace {
	p := t.Paces[i]
	if p == nil {
		if t.Paces == nil {
			t.Paces = map[int]*groupPace{}
		}
		p = &groupPace{new(latency.Histogram), new(latency.Histogram)}
		t.Paces[i] = p
	}
	return p
}

// recordPace records what the correction of a closed model's latencies needs.
func (t *tally) recordPace(o *observation) {
	if o.group == 0 {
		return
	}
	p := t.pace(o.group)
	p.Actual.Record(o.done.Sub(o.Sent))
	if o.gap > 0 {
		p.Gap.Record(o.gap)
	}
}

// recordLateWake records how late a user of a closed model continued after a
// pause.
func (s *shard) recordLateWake(late time.Duration) {
	s.mu.Lock()
	s.sum.ScheduleError.Record(late)
	s.mu.Unlock()
}
