package nats

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

// readAll is what the stream of a Log holds now. What this service did not append is an
// entry that is not intact.
func readAll(t testing.TB, s stream.Stream) map[string][]stream.Entry {
	t.Helper()
	l := s.(*Log)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	now, err := l.stream.Info(ctx)
	fatal.If(t, err)
	var all []stream.Entry
	for n := max(1, now.State.FirstSeq); n <= now.State.LastSeq; n++ {
		m, err := l.stream.GetMsg(ctx, n)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		fatal.If(t, err)
		e, err := fromNATS(n, m.Header, m.Data)
		if err != nil {
			e = stream.Entry{Record: stream.Record{Sum: 1}, Position: position(n)}
		}
		all = append(all, e)
	}
	return map[string][]stream.Entry{partition: all}
}

// fromNATS is toNATS's inverse. The entry's Value is the message's.
func fromNATS(sequence uint64, header client.Header, value []byte) (stream.Entry, error) {
	e := stream.Entry{Position: position(sequence)}
	fail := func(reason string) (stream.Entry, error) {
		return stream.Entry{}, &stream.CorruptError{Position: e.Position, Reason: reason}
	}
	if header.Get(headSum) == "" || header.Get(headTime) == "" {
		return fail("it was not appended by this service: its headers are missing")
	}
	sum, err := strconv.ParseUint(header.Get(headSum), 16, 32)
	if err != nil {
		return fail("its checksum cannot be read")
	}
	nanos, err := strconv.ParseInt(header.Get(headTime), 10, 64)
	if err != nil {
		return fail("its time cannot be read")
	}
	e.Record = stream.Record{Time: time.Unix(0, nanos).UTC(), Value: value, Sum: uint32(sum)}
	if e.ID, err = url.QueryUnescape(header.Get(headID)); err != nil {
		return fail("its id cannot be read")
	}
	if e.Key, err = url.QueryUnescape(header.Get(headKey)); err != nil {
		return fail("its key cannot be read")
	}
	for _, pair := range header[headPair] {
		name, value, _ := strings.Cut(pair, "=")
		h := stream.Header{}
		if h.Name, err = url.QueryUnescape(name); err == nil {
			h.Value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return fail("a header cannot be read")
		}
		e.Header = append(e.Header, h)
	}
	if !e.Intact() {
		return fail("its value is not what was sealed (CRC-32C)")
	}
	return e, nil
}
