package kinesis

import "time"

// What Kinesis lets all writers of a shard together write.
const (
	shardRecords = 1000    // a second
	shardBytes   = 1 << 20 // a second
)

// shardLimiter limits what a shard is sent. It is unlimited until Kinesis
// throttles the shard. Then it is a share of the shard's limits. In each second
// with throttling the share falls to a quarter above what the shard has kept, by
// a fifth at least and by half at most. It grows by a fifth of the limits each
// second (other writers may come and go), until it is well above them.
type shardLimiter struct {
	share          float64   // of the limits; 0: unbounded
	records, bytes float64   // that may be sent now
	at             time.Time // when those were reckoned
	fell           time.Time
	kept           struct{ records, bytes float64 } // since it fell
}

const (
	minShare    = 0.05
	maxShare    = 3.0
	shareStep   = 0.2
	aboveTaken  = 1.25
	minInterval = 50 * time.Millisecond // the least wait, so that calls do not shrink to a record
)

func (p *shardLimiter) throttled(now time.Time) {
	if p.share == 0 {
		*p = shardLimiter{share: 1, at: now, fell: now}
		return
	}
	if second := now.Sub(p.fell); second >= time.Second { // the limits are per second
		taken := max(p.kept.records/shardRecords, p.kept.bytes/shardBytes) / second.Seconds()
		p.share = max(min(aboveTaken*taken, p.share*(1-shareStep)), p.share/2, minShare)
		p.fell, p.kept.records, p.kept.bytes = now, 0, 0
	}
}

// keeps counts a Kinesis record that the shard has kept.
func (p *shardLimiter) keeps(bytes int) {
	p.kept.records++
	p.kept.bytes += float64(bytes)
}

// refill adds what has become free since the last time.
func (p *shardLimiter) refill(now time.Time) {
	if p.share == 0 || !now.After(p.at) {
		return
	}
	seconds := now.Sub(p.at).Seconds()
	p.at = now
	if p.share += shareStep * seconds; p.share > maxShare {
		*p = shardLimiter{}
		return
	}
	p.records = min(p.records+seconds*shardRecords*p.share, shardRecords)
	p.bytes = min(p.bytes+seconds*shardBytes*p.share, shardBytes)
}

func (p *shardLimiter) allows() bool { return p.share == 0 || p.records >= 1 && p.bytes > 0 }

// spend counts a Kinesis record. The bytes may become negative, so that a
// record larger than a second's share can be sent at all.
func (p *shardLimiter) spend(bytes int) {
	if p.share > 0 {
		p.records--
		p.bytes -= float64(bytes)
	}
}

// wait is how long nothing is allowed.
func (p *shardLimiter) wait() time.Duration {
	missing := max((1-p.records)/shardRecords, -p.bytes/shardBytes) / p.share
	return max(time.Duration(missing*float64(time.Second)), minInterval)
}
