package gateway

import (
	"errors"
	"maps"

	"whittle"
	"whittle/internal/coding"
)

// uncoded takes the content coding off every response of the exchange, because
// what is compared is what the two sides say, not how well they compress it:
// one that compresses and one that does not may say the same. What the user got
// stays as it was. A skip says that the monolith's response cannot be read; a
// candidate's that cannot has failed. ok is false where the route's budget has
// no room for what comes out.
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

// errNoCopyRoom says that the route's budget cannot hold a decoded answer.
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
