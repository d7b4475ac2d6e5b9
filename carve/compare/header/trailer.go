package header

import (
	"maps"
	"slices"

	"whittle"
)

// withTrailers is an exchange whose responses have the fields of their trailers among
// those of their headers, where clients of gRPC look for them too.
func withTrailers(x *whittle.Exchange) *whittle.Exchange {
	if len(x.Monolith.Trailer)+len(x.Candidate.Trailer) == 0 && (x.Repeat == nil || len(x.Repeat.Trailer) == 0) {
		return x
	}
	out := *x
	out.Monolith, out.Candidate = *withTrailer(&x.Monolith), *withTrailer(&x.Candidate)
	if x.Repeat != nil {
		out.Repeat = withTrailer(x.Repeat)
	}
	return &out
}

// withTrailer is a response with the fields of its trailer in its header, but for cookies, which no
// client takes from there.
func withTrailer(a *whittle.Response) *whittle.Response {
	if len(a.Trailer) == 0 {
		return a
	}
	out := *a
	if out.Header = maps.Clone(a.Header); out.Header == nil {
		out.Header = whittle.Header{}
	}
	for name, values := range a.Trailer {
		if name != SetCookie {
			out.Header[name] = slices.Concat(out.Header[name], values)
		}
	}
	return &out
}
