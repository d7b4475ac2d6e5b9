package gateway

import (
	"errors"
	"maps"

	"whittle"
	"whittle/internal/coding"
)

// uncoded decodes the content coding of every response of the exchange, so that two
// sides of which one compresses are compared by content. The user's response is not
// changed. skip: the monolith's response cannot be decoded. A candidate's that cannot
// be decoded counts as a failure. ok is false if the route's budget has no room for
// the decoded body.
func (rt *route) uncoded(v *userRequest, x *whittle.Exchange) (skip string, ok bool) {
	if err := rt.uncode(v, &x.Monolith); err != nil {
		return whittle.SkipEncoded, !errors.Is(err, errNoCopyRoom)
	}
	if x.Repeat != nil {
		if err := rt.uncode(v, x.Repeat); err != nil {
			x.Repeat = nil // one fewer to learn noise from
		}
	}
	switch err := rt.uncode(v, &x.Candidate); {
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

func (rt *route) uncode(v *userRequest, a *whittle.Response) error {
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
	a.Body, a.Header = body, maps.Clone(a.Header)
	delete(a.Header, "Content-Encoding")
	return nil
}
