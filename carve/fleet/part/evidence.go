package part

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"whittle"
	"whittle/carve/fleet"
	"whittle/carve/fleet/evidence"
)

// publishTime is how long a store may take to say that it has an exchange.
const publishTime = 5 * time.Second

// sender sends exchanges to the stream.
type sender struct {
	encoders sync.Pool // of *evidence.Encoder
	// run and number name what is sent, for a store that keeps each exchange once.
	run    uint64
	number atomic.Uint64
	// limit bounds what this gateway sends, until it hears which part it may.
	limit *rate.Limiter
	// patience bounds the sending of one exchange.
	patience time.Duration
}

// Observe sends an exchange to whoever leads, redacted and within the fleet's budget. What
// was sent is counted where it is judged.
func (p *Part) Observe(x *whittle.Exchange) whittle.Observation {
	r := p.table.Load().routes[x.Route]
	if r == nil {
		return whittle.Observation{Skip: whittle.SkipOff}
	}
	return p.observe(r, p.o.Gateway.Counts(x.Route).Run, x)
}

// observe sends an exchange of a run, if it is to be sent.
func (p *Part) observe(r *route, run uint64, x *whittle.Exchange) whittle.Observation {
	switch {
	case !p.member.IsConnected():
		return whittle.Observation{Skip: whittle.SkipCutOff}
	case !p.conduct.chosen(rand.Float64()), !p.sender.limit.Allow():
		return whittle.Observation{Skip: whittle.SkipSampled}
	}
	return p.publish(r, run, x)
}

// encode writes a message, redacted.
func (p *Part) encode(m *evidence.Message) ([]byte, error) {
	e, _ := p.sender.encoders.Get().(*evidence.Encoder)
	if e == nil {
		e = &evidence.Encoder{}
	}
	defer p.sender.encoders.Put(e)
	return e.Append(nil, m, p.o.Redact)
}

// publish sends an exchange of a run, numbered by this process's own.
func (p *Part) publish(r *route, run uint64, x *whittle.Exchange) whittle.Observation {
	m := evidence.Message{
		Gateway: p.o.Fleet.Node.Member, Run: run, Number: p.sender.number.Add(1), Digest: r.digest, Exchange: x,
	}
	b, err := p.encode(&m)
	if err != nil {
		return whittle.Observation{Skip: whittle.SkipTooLarge}
	}
	s := fleet.Sending{
		Route: x.Route, ID: fmt.Sprintf("%s.%x.%d", m.Gateway, p.sender.run, m.Number), Message: b, First: p.member.Instant(time.Now()),
	}
	err = p.deliver(context.Background(), &s)
	if whittle.CodeOf(err) == whittle.Unavailable {
		return whittle.Observation{Skip: whittle.SkipCutOff}
	}
	if err != nil { // it is pending, whatever became of it
		p.settling.add(s)
	}
	return whittle.Observation{Counted: true, Ask: err == nil && p.differs(b)}
}

// Known reports whether a response to a request of this shape has been compared, by what
// the fleet's records say. The judge has seen requests without their secrets.
func (p *Part) Known(route string, q *whittle.Request) bool {
	clean := *q
	p.o.Redact.Request(&clean)
	return p.shown().Known(route, &clean)
}
