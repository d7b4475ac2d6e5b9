package gateway

import (
	"errors"
	"maps"

	"whittle"
	"whittle/internal/coding"
)

// uncoded decodes the content coding of every response of the exchange, so that two
// sides of which one compresses are compared by content. The user's response is not
// changed. A coding that the request did not ask for stays in the header, for its client
// gets bytes that it may not read. skip: the monolith's response cannot be decoded. A
// candidate's that cannot be decoded counts as a failure, or stays as it is where it was
// not asked for either. ok is false if the route's budget has no room for the decoded
// body.
func (rt *route) uncoded(v *userRequest, x *whittle.Exchange) (skip string, ok bool) {
	if err := rt.uncode(v, x, &x.Monolith); err != nil {
		return whittle.SkipEncoded, !errors.Is(err, errNoCopyRoom)
	}
	if x.Repeat != nil {
		if err := rt.uncode(v, x, x.Repeat); err != nil {
			x.Repeat = nil // one fewer to learn noise from
		}
	}
	switch err := rt.uncodeCandidate(v, x, &x.Candidate); {
	case err == nil:
	case errors.Is(err, errNoCopyRoom):
		return "", false
	case errors.Is(err, coding.ErrUnknown):
		return whittle.SkipEncoded, true
	case errors.Is(err, coding.ErrTooLong):
		x.Candidate.Failure, x.Candidate.Detail = whittle.FailedTooLarge, err.Error()
	default:
		x.Candidate.Failure, x.Candidate.Detail = whittle.FailedMalform, err.Error()
	}
	return "", true
}

// errNoCopyRoom says that the route's budget cannot hold a decoded response.
var errNoCopyRoom = errors.New("no room for the response once its content encoding is taken off")

// uncodeCandidate is uncode, but for an unknown coding that nobody asked for: that is
// another response, whatever it holds.
func (rt *route) uncodeCandidate(v *userRequest, x *whittle.Exchange, a *whittle.Response) error {
	err := rt.uncode(v, x, a)
	if errors.Is(err, coding.ErrUnknown) && !coding.Asked(x.Request.Header, a.Header) {
		return nil
	}
	return err
}

func (rt *route) uncode(v *userRequest, x *whittle.Exchange, a *whittle.Response) error {
	if a.Failure != whittle.NoFailure || coding.Plain(a.Header) {
		return nil
	}
	body, err := coding.Decode(a.Header, a.Body, rt.mostResponse(rt.env.candidate))
	if err != nil {
		return err
	}
	if !v.reserve(int64(len(body))) {
		return errNoCopyRoom
	}
	asked := coding.Asked(x.Request.Header, a.Header)
	if a.Body = body; asked {
		a.Header = maps.Clone(a.Header)
		delete(a.Header, "Content-Encoding")
	}
	return nil
}
