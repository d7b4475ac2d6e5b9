package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"whittle"
)

// An entry as bytes. Numbers are varints; a text or a body is its length and
// its bytes.
//
//	length         of all that follows
//	flags          1 the request is truncated, 2 the response is, 4 the candidate served
//	conn
//	at             Unix nanoseconds
//	route
//	method target host header body     the request
//	status header trailer body         the response
//	latency        nanoseconds
//	failure detail
//
// A header is its number of names, each followed by its number of values and
// these, by name: the same entry makes the same bytes. A header without names
// and a body without bytes come back as nil.
const (
	requestTruncated = 1 << iota
	responseTruncated
	servedByCandidate
	knownFlags = 1<<iota - 1
)

// maxStatus is the largest status that HTTP's grammar has room for.
const maxStatus = 999

// ErrEntry is in the chain of every error that is about one entry: another one
// can be kept.
var ErrEntry = errors.New("keep exchange")

// AppendEntry writes e behind b. On an error, which is an ErrEntry, coded
// ResourceExhausted or Invalid, and names what is wrong with e, b comes back as
// it was.
func AppendEntry(b []byte, e *Entry) ([]byte, error) {
	if err := checkEntry(e); err != nil {
		return b, err
	}
	start := len(b)
	// The length goes in front once it is known; a small gap is closed then.
	w := append(b, make([]byte, binary.MaxVarintLen32)...)
	body := len(w)
	w = appendFields(w, e)
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(w)-body))
	copy(w[start:], length[:n])
	return append(w[:start+n], w[body:]...), nil
}

func appendFields(w []byte, e *Entry) []byte {
	var flags uint64
	if e.Request.Truncated {
		flags |= requestTruncated
	}
	if e.Response.Truncated {
		flags |= responseTruncated
	}
	if e.Served == whittle.Candidate {
		flags |= servedByCandidate
	}
	w = binary.AppendUvarint(w, flags)
	w = binary.AppendUvarint(w, e.Conn)
	w = binary.AppendUvarint(w, uint64(e.At.UnixNano()))
	w = appendText(w, e.Route)

	w = appendText(w, e.Request.Method)
	w = appendText(w, e.Request.Target)
	w = appendText(w, e.Request.Host)
	w = appendHeader(w, e.Request.Header)
	w = appendText(w, e.Request.Body)

	w = binary.AppendUvarint(w, uint64(e.Response.Status))
	w = appendHeader(w, e.Response.Header)
	w = appendHeader(w, e.Response.Trailer)
	w = appendText(w, e.Response.Body)
	w = binary.AppendUvarint(w, uint64(max(0, e.Response.Latency)))
	w = appendText(w, string(e.Response.Failure))
	return appendText(w, e.Response.Detail)
}

func appendText[T string | []byte](w []byte, t T) []byte {
	w = binary.AppendUvarint(w, uint64(len(t)))
	return append(w, t...)
}

func appendHeader(w []byte, h whittle.Header) []byte {
	w = binary.AppendUvarint(w, uint64(len(h)))
	var few [32]string // sorting most headers asks for no memory
	names := slices.AppendSeq(few[:0], maps.Keys(h))
	slices.Sort(names)
	for _, name := range names {
		w = appendText(w, name)
		w = binary.AppendUvarint(w, uint64(len(h[name])))
		for _, value := range h[name] {
			w = appendText(w, value)
		}
	}
	return w
}

// newest and oldest bound the time of an entry: what Unix nanoseconds hold.
var (
	oldest = time.Unix(0, 0)
	newest = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

func checkEntry(e *Entry) error {
	if e.At.Before(oldest) || !e.At.Before(newest) {
		return whittle.Errorf(whittle.Invalid, "%w: its time %s is not within 1970 to 2261", ErrEntry, e.At)
	}
	if s := e.Response.Status; s < 0 || s > maxStatus {
		return whittle.Errorf(whittle.Invalid, "%w: status %d", ErrEntry, s)
	}
	for _, t := range []struct{ what, text string }{
		{"route's name", e.Route},
		{"method", e.Request.Method},
		{"target", e.Request.Target},
		{"host", e.Request.Host},
		{"failure", string(e.Response.Failure)},
		{"failure's detail", e.Response.Detail},
	} {
		if len(t.text) > MaxText {
			return tooLarge("%s has %d bytes", t.what, len(t.text))
		}
	}
	if n := max(len(e.Request.Body), len(e.Response.Body)); n > MaxBody {
		return tooLarge("a body has %d bytes", n)
	}
	for _, h := range []whittle.Header{e.Request.Header, e.Response.Header, e.Response.Trailer} {
		if err := checkHeader(h); err != nil {
			return err
		}
	}
	return nil
}

func checkHeader(h whittle.Header) error {
	count, size := len(h), 0
	for name, values := range h {
		longest := len(name)
		size += len(name)
		for _, v := range values {
			longest = max(longest, len(v))
			size += len(v)
		}
		count += max(0, len(values)-1)
		if longest > MaxText {
			return tooLarge("header %.64q has %d bytes", name, longest)
		}
	}
	switch {
	case count > MaxHeaders:
		return tooLarge("a header has %d fields", count)
	case size > MaxHeaderBytes:
		return tooLarge("a header has %d bytes", size)
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return whittle.Errorf(whittle.ResourceExhausted, "%w: %s, more than the log takes", ErrEntry, fmt.Sprintf(format, args...))
}
