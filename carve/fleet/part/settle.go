package part

import (
	"context"
	"sync"
	"time"

	"whittle/carve/fleet"
	"whittle/internal/notify"
)

const (
	// unsettledBytes bounds the exchanges that are kept to be sent again.
	unsettledBytes = 16 << 20
	// settleAgain is the wait after one that was sent again in vain.
	settleAgain = time.Second
)

// settling are the exchanges that were sent without an acknowledgement: the stream may have
// them or not.
type settling struct {
	more notify.Signal

	mu sync.Mutex // guards the following
	of fleet.Unsettled
}

func (s *settling) add(m fleet.Sending) {
	s.mu.Lock()
	s.of.Add(m)
	s.mu.Unlock()
	s.more.Notify()
}

// next is what is to be sent now, and how many have been given up since it was asked last.
func (s *settling) next(now fleet.Instant) (m fleet.Sending, ok bool, givenUp int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok = s.of.Next(now)
	givenUp, s.of.GivenUp = s.of.GivenUp, 0
	return m, ok, givenUp
}

// settle sends exchanges again until the stream is known to have them, or ctx ends. The
// stream keeps each once.
func (p *Part) settle(ctx context.Context) {
	for ctx.Err() == nil {
		m, ok, givenUp := p.settling.next(p.member.Instant(time.Now()))
		if givenUp > 0 {
			p.o.Log.Warn("NATS has not said whether it has these exchanges: unless it has, they stay unknown in the ledger", "exchanges", givenUp)
		}
		switch {
		case !ok:
			select {
			case <-ctx.Done():
			case <-p.settling.more:
			}
		case p.deliver(ctx, &m) != nil:
			p.settling.add(m)
			notify.Sleep(ctx, settleAgain)
		}
	}
}

// deliver sends an exchange to the stream.
func (p *Part) deliver(ctx context.Context, m *fleet.Sending) error {
	ctx, cancel := context.WithTimeout(ctx, p.sender.patience)
	defer cancel()
	return p.member.Publish(ctx, m.Route, m.ID, m.Message)
}
