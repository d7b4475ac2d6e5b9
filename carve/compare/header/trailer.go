package header

import (
	"maps"
	"strings"

	"whittle"
)

// inTrailer marks the names of fields that came after the body.
const inTrailer = " (trailer)"

// withTrailers is an exchange whose responses have the fields of their trailers among
// those of their headers, under names of their own.
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

// withTrailer is a response with the fields of its trailer among those of its header.
// gRPC's are the same in either place: a response without a message has them in its
// header.
func withTrailer(a *whittle.Response) *whittle.Response {
	if len(a.Trailer) == 0 {
		return a
	}
	out := *a
	if out.Header = maps.Clone(a.Header); out.Header == nil {
		out.Header = whittle.Header{}
	}
	for name, values := range a.Trailer {
		if !strings.HasPrefix(name, "Grpc-") {
			name += inTrailer
		}
		out.Header[name] = values
	}
	return &out
}

// configured is the name by which the config speaks of a field.
func configured(name string) string { return strings.TrimSuffix(name, inTrailer) }
