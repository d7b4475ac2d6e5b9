package part

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"whittle"
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
		return c.Order(ctx, route, o)
	}
	b, err := json.Marshal(order{Version: orderVersion, Route: route, Order: o})
	if err != nil {
		return err
	}
	reply, err := p.ask(ctx, b, func() { p.fall(route, &o) })
	if err != nil {
		return err
	}
	var c carried
	switch {
	case json.Unmarshal(reply, &c) != nil || c.Version != orderVersion:
		return whittle.Errorf(whittle.Unsupported, "the gateway that leads is of another version: give the order there")
	case c.Failed:
		return whittle.Errorf(c.Code, "%s", c.Message).WithHint(c.Hint)
	}
	p.refresh(ctx, 0)
	return nil
}

// fall takes users off the candidate, at every gateway that can be reached, before anybody
// leads who could carry out a rollback.
func (p *Part) fall(route string, o *rollout.Order) {
	if o.Kind != rollout.Rollback && o.Kind != rollout.Off {
		return
	}
	p.member.Do(func(n *fleet.Node, _ fleet.Instant) {
		n.Fall(route, "an order to "+string(o.Kind)+" was given while nobody led the fleet")
	})
}

// ask asks whoever leads. While nobody does, which ends after a few leases, it waits, and
// nothing has been done but what meanwhile does.
func (p *Part) ask(ctx context.Context, question []byte, meanwhile func()) ([]byte, error) {
	for first := true; ; first = false {
		reply, err := p.member.Ask(ctx, subjectOrders, question)
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
		return whittle.Errorf(whittle.Unavailable, "%w", errNotLeading)
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTime)
	defer cancel()
	return c.Order(ctx, o.Route, o.Order)
}
