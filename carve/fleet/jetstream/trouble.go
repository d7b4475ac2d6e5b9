package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle/carve/fleet/evidence"
	"whittle/internal/units"
)

// errLate is the error of what was asked and not replied to within the time.
var errLate = errors.New("JetStream does not reply in time: it has no leader, or its disks are slow")

func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrTimeout)
}

// explained is an error of NATS with what to do about it, where that is known.
func explained(err error) string {
	switch {
	case errors.Is(err, client.ErrNoResponders):
		return "no JetStream responds"
	case isLate(err):
		return errLate.Error()
	}
	return err.Error()
}

// failure is the last error of a kind. A nil err: it is over.
type failure struct {
	err error
	at  time.Time
}

// refusedFor is for how many leases a refusal is what is wrong: what is refused is tried
// more often.
const refusedFor = 2

// complained takes an error that belongs to no call.
func (m *Member) complained(err error) {
	if !errors.Is(err, client.ErrPermissionViolation) {
		m.o.Log.Debug("NATS complains", "err", err)
		return
	}
	m.mu.Lock()
	known := m.isRefused()
	m.refused = failure{err, time.Now()}
	m.mu.Unlock()
	if !known {
		m.o.Log.Error("NATS refuses what a fleet needs: give this gateway's user the permissions that docs/fleet.md has", "err", err)
	}
}

// isRefused reports whether something was refused of late. The caller holds mu.
func (m *Member) isRefused() bool {
	return m.refused.err != nil && time.Since(m.refused.at) < refusedFor*m.o.Node.Lease
}

// refused says what is refused, and what to do about it.
func refused(err error) string {
	return "NATS refuses what a fleet needs (" + strings.TrimPrefix(err.Error(), client.ErrPermissionViolation.Error()+": ") + "): give this gateway's user the permissions that docs/fleet.md has"
}

// losing is how long one exchange that could not be sent counts as a sign that none can be.
// A failed exchange is tried again every few seconds, so an older failure is over.
const losing = 30 * time.Second

// why is what keeps exchanges from being sent now. A refusal is one until NATS takes one.
func (l failure) why(now time.Time) error {
	var api *jetstream.APIError
	if errors.As(l.err, &api) || now.Sub(l.at) < losing {
		return l.err
	}
	return nil
}

func (m *Member) lose(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = failure{err, time.Now()}
}

// note keeps the last error of one kind.
func (m *Member) note(kind *error, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*kind = err
}

// Trouble is why the fleet is not heard of, and what to do, as far as is known.
func (m *Member) Trouble() string {
	if m.o.Server != nil {
		if why := m.o.Server.Trouble(); why != "" {
			return why
		}
	}
	m.mu.Lock()
	err, away, refusal, isRefused := m.trouble, m.away, m.refused.err, m.isRefused()
	m.mu.Unlock()
	if isRefused && m.conn.IsConnected() {
		return refused(refusal)
	}
	why := "no server responds"
	if !m.conn.IsConnected() {
		why = "NATS cannot be reached"
		// What was to be sent meanwhile failed in words of its own, which say less.
		if err = m.conn.LastError(); err == nil || errors.Is(err, client.ErrNoServers) || errors.Is(err, client.ErrReconnectBufExceeded) {
			err = away
		}
		if err != nil {
			why += " (" + err.Error() + ")"
		}
	} else if err != nil {
		why = explained(err)
	}
	var api *jetstream.APIError
	if m.o.Server != nil || errors.As(err, &api) { // which says itself what it refuses
		return why
	}
	return why + "; is NATS there, with JetStream and a majority of its servers, and does it know the credentials?"
}

// Wrong is what somebody should look at though the fleet is heard of, each one sentence.
func (m *Member) Wrong() (all []string) {
	m.mu.Lock()
	err, refusal, isRefused := m.lost.why(time.Now()), m.refused.err, m.isRefused()
	m.mu.Unlock()
	if isRefused {
		all = append(all, refused(refusal)+".")
	}
	if err != nil {
		all = append(all, "Exchanges cannot be sent to whoever leads, so no verdict comes of those here: "+explained(err)+".")
	}
	if most := m.conn.MaxPayload(); m.conn.IsConnected() && most < evidence.MaxMessage {
		all = append(all, fmt.Sprintf("NATS takes messages of %s at most, and an exchange or a record may have %s: raise its max_payload.",
			units.Size(most), units.Size(evidence.MaxMessage)))
	}
	return all
}
