package part

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"time"

	"whittle"
	"whittle/carve/fleet/evidence"
)

const (
	subjectAgain = "again"
	againVersion = 1
	// againTime bounds the wait for whoever leads.
	againTime = 2 * time.Second
	// againShare is about how many exchanges of the fleet's budget both sides are asked about
	// again, and againSaved how many at once.
	againShare = 0.04
	againSaved = 24
)

// more says whether both sides are to be asked again about an exchange.
type more struct {
	Version int           `json:"version"`
	More    bool          `json:"more"`
	After   time.Duration `json:"after_ns,omitempty"`
}

// differs reports whether an exchange, as it was sent, is worth asking both sides about
// again, by what the fleet's records say of noise.
func (p *Part) differs(message []byte) bool {
	m, err := new(evidence.Decoder).Decode(message)
	return err == nil && p.shown().WorthAsking(m.Exchange)
}

// Recheck asks the gateway that leads what both sides' responses show, and whether to ask the
// two once more: this gateway asks them, and the leader judges. Without a reply from the
// leader nothing is asked any further, and nothing is shown.
func (p *Part) Recheck(again *whittle.Recheck) (after time.Duration, another bool) {
	r := p.table.Load().routes[again.Exchange.Route]
	if r == nil {
		return 0, false
	}
	question, err := p.encode(&evidence.Message{
		Gateway: p.o.Fleet.Node.Member, Digest: r.digest, Exchange: again.Exchange, Again: true, Rounds: again.Rounds,
	})
	if err != nil {
		return 0, false // it is too large
	}
	var reply []byte
	if p.own.Load() != nil {
		reply = p.judgeAgain(question)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), againTime)
		defer cancel()
		if reply, err = p.member.Ask(ctx, subjectAgain, question); err != nil {
			return 0, false
		}
	}
	var said more
	if json.Unmarshal(reply, &said) != nil || said.Version != againVersion {
		return 0, false
	}
	return said.After, said.More
}

// judgeAgain judges what came of asking both sides again, while this gateway leads. It begins
// with no more than the fleet's budget allows, and ends what was begun: what is left out
// does not depend on what came of it.
func (p *Part) judgeAgain(question []byte) []byte {
	said := more{Version: againVersion}
	p.judgeOf(question, &said)
	b, _ := json.Marshal(said) // plain values
	return b
}

// judgeOf judges a question, if it is this gateway's to judge.
func (p *Part) judgeOf(question []byte, said *more) {
	m, err := new(evidence.Decoder).Decode(question)
	c := p.own.Load()
	if err != nil || !m.Again || c == nil {
		return
	}
	r := p.table.Load().routes[m.Exchange.Route]
	if r == nil || r.digest != m.Digest {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			p.o.Log.Error("judging what was asked again panicked", "route", r.spec.Name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	m.Exchange.At = timely(m.Exchange.At, time.Now())
	if len(m.Rounds) > 0 || c.WorthAsking(m.Exchange) && p.again.Allow() {
		said.After, said.More = c.Recheck(&whittle.Recheck{Exchange: m.Exchange, Rounds: m.Rounds})
	}
}
