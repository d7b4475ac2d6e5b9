package replay

import (
	"context"
	"maps"
	"time"

	"whittle"
	"whittle/carve/gateway"
	"whittle/record/har"
)

func streams(q *whittle.Request) bool { return gateway.Streams(q) }

// send asks the candidate, and now and then the monolith.
func (p *player) send(ctx context.Context, it *item) {
	it.sent = time.Now()
	q := &it.entry.Request
	var err error
	if it.response, err = it.to.caller.Call(ctx, q); err != nil {
		it.skip = whittle.SkipUntranslated
		return
	}
	if ctx.Err() != nil && it.response.Failure != whittle.NoFailure {
		it.skip = whittle.SkipInterrupted
		return
	}
	if it.response.Failure == whittle.NoFailure && !unpack(&it.response) {
		it.response.Failure, it.response.Detail = whittle.FailedMalform, "the body is not what its Content-Encoding says, or in one that was not asked for"
	}
	if p.asksMonolith(it) {
		if again, err := p.dir.monolith.Call(ctx, q); err == nil && again.Failure == whittle.NoFailure && unpack(&again) {
			it.again = &again
		}
	}
	if p.o.Redact != nil {
		p.o.Redact(&it.response)
		if it.again != nil {
			p.o.Redact(it.again)
		}
	}
}

// asksMonolith reports whether it is the monolith's turn to be asked a second
// time: never with what could change something.
func (p *player) asksMonolith(it *item) bool {
	return p.dir.monolith != nil && it.to.learns && it.to.caller.Harmless(it.entry.Request.Method) &&
		it.to.asked.Add(1)%int64(p.o.RepeatEvery) == 0
}

// unpack takes the content encoding off a response, so that what is compared is
// what the two sides say and not how well they compress it. False: it is one
// that is not read here, or the body is not what it claims.
func unpack(a *whittle.Answer) bool {
	if a.Header.Get("Content-Encoding") == "" || a.Truncated {
		return true
	}
	body, ok := har.Unpacked(a)
	if ok {
		a.Header = maps.Clone(a.Header)
		delete(a.Header, "Content-Encoding")
		a.Body = body
	}
	return ok
}
