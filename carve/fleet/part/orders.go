package part

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet"
	"whittle/carve/rollout"
	"whittle/internal/notify"
)

const (
	subjectOrders = "orders"
	orderVersion  = 1
	// orderTime bounds an order that another gateway was given, which waits for it longer.
	orderTime = 8 * time.Second
)

// order is an order on its way to whoever leads.
type order struct {
	Version int           `json:"version"`
	Route   string        `json:"route"`
	Order   rollout.Order `json:"order"`
}

// carried is what has become of an order.
type carried struct {
	Version int          `json:"version"`
	Failed  bool         `json:"failed,omitempty"`
	Code    whittle.Code `json:"code,omitempty"`
	Message string       `json:"message,omitempty"`
	Hint    string       `json:"hint,omitempty"`
}

// Order carries out a manual order, wherever it was given: whoever leads does.
func (p *Part) Order(ctx context.Context, route string, o rollout.Order) error {
	if c := p.own.Load(); c != nil {
		return p.carryOn(ctx, c, route, o)
	}
	// What is known here when it is sent is what it is for: an order that is late, because
	// the one before it took long, raises nothing that has been rolled back meanwhile.
	question := func() ([]byte, error) {
		stamped := o
		if o.Generation == 0 && !o.Lowers() {
			stamped.Generation = p.seen.Load().force[route].generation
		}
		return json.Marshal(order{Version: orderVersion, Route: route, Order: stamped})
	}
	var fell atomic.Bool
	fall := func() {
		if p.fall(route, &o) {
			fell.Store(true)
		}
	}
	// One that hangs is not known to: who rolls back does not wait until another leads.
	over := make(chan struct{})
	hurry := time.AfterFunc(p.o.Fleet.Node.Lease/2, func() { defer close(over); fall() })
	reply, err := p.ask(ctx, question, fall)
	if !hurry.Stop() {
		<-over
	}
	if code := whittle.CodeOf(err); fell.Load() && (code == whittle.Unavailable || code == whittle.DeadlineExceeded) {
		who := "nobody leads the fleet at the moment"
		if code == whittle.DeadlineExceeded {
			who = "the gateway that leads has not responded"
		}
		return whittle.Errorf(code, "%s, so the circuit breaker has been opened: users are on the monolith here, and at every gateway that is connected or will be", who).
			WithHint("give the order again when whittle fleet says who leads, so that the time line has it")
	}
	if err != nil {
		return err
	}
	var c carried
	switch {
	case json.Unmarshal(reply, &c) != nil || c.Version != orderVersion:
		return whittle.Errorf(whittle.Unsupported, "the gateway that leads is of another version: give the order there")
	case c.Failed && c.Code == whittle.NotFound && p.table.Load().routes[route] != nil:
		return whittle.Errorf(whittle.NotFound, "the gateway that leads has no route with a candidate that is called %q", route).
			WithHint("give all gateways of a fleet the same config, or this one another fleet (fleet.name)")
	case c.Failed:
		return whittle.Errorf(c.Code, "%s", c.Message).WithHint(c.Hint)
	}
	p.refresh(ctx, 0)
	return nil
}

// fall takes users off the candidate, at every gateway that can be reached, where nobody
// leads, or responds, who could carry out a rollback. False: that is not what the order is for.
func (p *Part) fall(route string, o *rollout.Order) bool {
	what, lowers := map[rollout.Kind]string{rollout.Rollback: "roll back", rollout.Off: "switch off"}[o.Kind]
	return lowers && p.member.Do(func(n *fleet.Node, _ fleet.Instant) {
		n.Fall(route, "an order to "+what+" was given, and nobody who leads the fleet responded")
	})
}

// ask asks whoever leads. While nobody does, which ends after a few leases, it waits, and
// nothing has been done but what meanwhile does.
func (p *Part) ask(ctx context.Context, question func() ([]byte, error), meanwhile func()) ([]byte, error) {
	for first := true; ; first = false {
		b, err := question()
		if err != nil {
			return nil, err
		}
		reply, err := p.member.Ask(ctx, subjectOrders, b)
		if whittle.CodeOf(err) != whittle.Unavailable {
			return reply, err
		}
		if first {
			meanwhile()
		}
		if left, bounded := ctx.Deadline(); !bounded || time.Until(left) < time.Second {
			return nil, err
		}
		notify.Sleep(ctx, leadEvery)
	}
}

// carryOut carries an order out that another gateway was given.
func (p *Part) carryOut(question []byte) []byte {
	var o order
	c := carried{Version: orderVersion}
	if json.Unmarshal(question, &o) != nil || o.Version != orderVersion {
		c.Failed, c.Code, c.Message = true, whittle.Unsupported, "the gateway that leads cannot read the order: give it there"
	} else if err := p.carry(o); err != nil {
		c.Failed, c.Code, c.Message = true, whittle.CodeOf(err), err.Error()
		if coded, ok := errors.AsType[*whittle.Error](err); ok {
			c.Hint = coded.Hint
		}
	}
	b, _ := json.Marshal(c) // plain values
	return b
}

func (p *Part) carry(o order) error {
	c := p.own.Load()
	if c == nil {
		return whittle.Errorf(whittle.Unavailable, "this gateway does not lead the fleet")
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTime)
	defer cancel()
	return p.carryOn(ctx, c, o.Route, o.Order)
}

// shownTime bounds the wait until the store shows a fall that was ordered.
const shownTime = 3 * time.Second

// carryOn gives an order to the controller. A fall counts as done only once the fleet's store
// shows it: until then nobody else knows of it, and this gateway may end.
func (p *Part) carryOn(ctx context.Context, c *control.Controller, route string, o rollout.Order) error {
	if err := c.Order(ctx, route, o); err != nil || !o.Lowers() {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shownTime)
	defer cancel()
	shown, leads := false, true
	for !shown && leads && ctx.Err() == nil {
		if !p.member.Do(func(n *fleet.Node, now fleet.Instant) { shown, leads = n.Shown(route, now) }) {
			leads = false
		}
		if !shown {
			notify.Sleep(ctx, shownEvery)
		}
	}
	if shown {
		return nil
	}
	return whittle.Errorf(whittle.DeadlineExceeded, "the order was carried out at the gateway that leads, and the fleet's store does not have it yet").
		WithHint("gateways that hear nothing of the fleet have nobody on the candidate; give the order again when whittle fleet says that nothing is wrong")
}

const shownEvery = 10 * time.Millisecond
