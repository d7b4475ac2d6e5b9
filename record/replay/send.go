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

// send sends the request to the candidate, and sometimes to the monolith.
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
		if again, err := p.router.monolith.Call(ctx, q); err == nil && again.Failure == whittle.NoFailure && unpack(&again) {
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

// asksMonolith reports whether this request is repeated to the monolith. One
// that may change something never is.
func (p *player) asksMonolith(it *item) bool {
	return p.router.monolith != nil && it.to.learns && it.to.caller.Harmless(it.entry.Request.Method) &&
		it.to.asked.Add(1)%int64(p.o.RepeatEvery) == 0
}

// unpack removes the content encoding of a response, so that the comparison
// sees its content and not its compression. It returns false where the encoding
// is unknown or the body does not have it.
func unpack(a *whittle.Response) bool {
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
