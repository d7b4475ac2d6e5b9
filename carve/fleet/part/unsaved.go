package part

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet/evidence"
	"whittle/internal/notify"
)

const (
	subjectUnsaved = "unsaved"
	// unsavedTime is for how long a judgement may not be in the leader's records yet, and
	// unsavedMost how many are kept here.
	unsavedTime = 30 * time.Second
	unsavedMost = 256
	// unsavedHead is what is in front of a question: version, term and number.
	unsavedHead = 1 + 8 + 8
)

// judged is a question that a leader has judged. It may not be in that leader's records yet.
type judged struct {
	term, number uint64
	at           time.Time
	question     []byte
}

// unsaved are the questions of this gateway that were judged of late.
type unsaved struct {
	moved notify.Signal // another term has begun

	mu   sync.Mutex // guards the following
	list []*judged
}

func (u *unsaved) keep(j *judged) {
	u.mu.Lock()
	defer u.mu.Unlock()
	old := func(o *judged) bool { return time.Since(o.at) > unsavedTime }
	u.list = append(slices.DeleteFunc(u.list, old), j)
	u.list = u.list[max(0, len(u.list)-unsavedMost):]
}

func (u *unsaved) take() (list []*judged) {
	u.mu.Lock()
	defer u.mu.Unlock()
	list, u.list = u.list, nil
	return list
}

// base is what the records had when this gateway's term began: how many differences of each
// route were settled. again has those of earlier terms that were judged once more since; only
// judgeUnsaved uses it.
type base struct {
	number  uint64
	settled map[string]uint64
	again   map[resaid]bool
}

type resaid struct {
	route        string
	term, number uint64
}

// lacks reports whether the records lack a judgement of a term before, once. Records that
// count none may be of an earlier version, which counts none whatever it has.
func (b *base) lacks(route string, term, number uint64) bool {
	had := b.settled[route]
	one := resaid{route, term, number}
	if had == 0 || number <= had || b.again[one] {
		return false
	}
	b.again[one] = true
	return true
}

// resay tells another leader what the one before has judged, until ctx ends: what is not
// in its records is judged once more.
func (p *Part) resay(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.unsaved.moved:
		}
		for _, j := range p.unsaved.take() {
			p.resayOne(ctx, j)
		}
	}
}

// resayOne waits for somebody who leads.
func (p *Part) resayOne(ctx context.Context, j *judged) {
	b := binary.BigEndian.AppendUint64([]byte{againVersion}, j.term)
	b = append(binary.BigEndian.AppendUint64(b, j.number), j.question...)
	for time.Since(j.at) < unsavedTime && ctx.Err() == nil {
		ask, cancel := context.WithTimeout(ctx, againTime)
		reply, err := p.member.Ask(ask, subjectUnsaved, b)
		cancel()
		if whittle.CodeOf(err) == whittle.Unavailable {
			notify.Sleep(ctx, leadEvery)
			continue
		}
		var said more
		if err == nil && json.Unmarshal(reply, &said) == nil && said.Number > 0 {
			p.unsaved.keep(&judged{term: said.Term, number: said.Number, at: j.at, question: j.question})
		}
		return
	}
}

// judgeUnsaved judges what a leader before this one has judged, if its records had not come
// to it.
func (p *Part) judgeUnsaved(message []byte) []byte {
	said := more{Version: againVersion}
	if term := p.base.Load(); term != nil && len(message) > unsavedHead && message[0] == againVersion {
		j := judged{term: binary.BigEndian.Uint64(message[1:]), number: binary.BigEndian.Uint64(message[9:]), question: message[unsavedHead:]}
		if j.term >= term.number {
			said.Term, said.Number = j.term, j.number // it was this one
		} else {
			said = p.judgeOf(j.question, func(_ *control.Controller, m *evidence.Message) bool {
				return len(m.Rounds) > 0 && term.lacks(m.Exchange.Route, j.term, j.number)
			})
		}
	}
	b, _ := json.Marshal(said) // plain values
	return b
}
