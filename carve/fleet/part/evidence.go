package part

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"whittle"
	"whittle/carve/fleet/evidence"
)

// publishTime is how long a store may take to say that it has an exchange.
const publishTime = 5 * time.Second

// sender sends exchanges to the stream.
type sender struct {
	encoders sync.Pool // of *evidence.Encoder
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
	switch {
	case !p.member.IsConnected():
		return whittle.Observation{Skip: whittle.SkipCutOff}
	case !p.conduct.chosen(rand.Float64()), !p.sender.limit.Allow():
		return whittle.Observation{Skip: whittle.SkipSampled}
	}
	return p.publish(r, x)
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

// publish sends an exchange.
func (p *Part) publish(r *route, x *whittle.Exchange) whittle.Observation {
	m := evidence.Message{
		Gateway: p.o.Fleet.Node.Member, Run: p.o.Gateway.Counts(x.Route).Run, Digest: r.digest, Exchange: x,
	}
	b, err := p.encode(&m)
	if err != nil {
		return whittle.Observation{Skip: whittle.SkipTooLarge}
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.sender.patience)
	defer cancel()
	err = p.member.Publish(ctx, x.Route, b)
	if whittle.CodeOf(err) == whittle.Unavailable {
		return whittle.Observation{Skip: whittle.SkipCutOff}
	}
	return whittle.Observation{Counted: true, Ask: err == nil && p.differs(b)} // it is pending, whatever became of it
}

// Known reports whether a response to a request of this shape has been compared, by what
// the fleet's records say. The judge has seen requests without their secrets.
func (p *Part) Known(route string, q *whittle.Request) bool {
	clean := *q
	p.o.Redact.Request(&clean)
	return p.shown().Known(route, &clean)
}
