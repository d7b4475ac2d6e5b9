package relay

import (
	"whittle"
	"whittle/systems/ingest/stream"
)

// The headers of a letter.
const (
	reasonHeader = "Whittle-Reason"
	reasonLimit  = 4 << 10
)

// DeadLetter is a record that a sink would not take, as it lies in the dead letters.
type DeadLetter struct {
	// Record is what was appended, without an origin.
	Record stream.Record
	// Reason is what the sink said.
	Reason string
	// Origin is "id/number" of the sender: which log, and where in it.
	Origin string
}

// seal makes the record that lies in the dead letters: id, key and time are the
// record's, and the value is its whole encoding, so that no bound on headers
// can spoil it.
func (l *DeadLetter) seal() stream.Record {
	reason := l.Reason
	if len(reason) > reasonLimit {
		reason = reason[:reasonLimit]
	}
	r := stream.Record{
		ID: l.Record.ID, Key: l.Record.Key, Time: l.Record.Time,
		Header: []stream.Header{{Name: reasonHeader, Value: reason}, {Name: OriginHeader, Value: l.Origin}},
		Value:  stream.AppendRecord(make([]byte, 0, stream.EncodedLen(&l.Record)), &l.Record),
	}
	r.Seal()
	return r
}

// deadLetterOverhead is how much longer a letter may be than the record in it.
const deadLetterOverhead = stream.MaxID + stream.MaxKey + len(reasonHeader) + reasonLimit + originLen + 64

// ReadDeadLetter opens a record of the dead letters. Its error is Invalid where r
// is no letter, or not what was written.
func ReadDeadLetter(r *stream.Record) (DeadLetter, error) {
	if !r.Intact() {
		return DeadLetter{}, whittle.Errorf(whittle.Invalid, "read letter: the checksum does not match")
	}
	var l DeadLetter
	for _, h := range r.Header {
		switch h.Name {
		case reasonHeader:
			l.Reason = h.Value
		case OriginHeader:
			l.Origin = h.Value
		}
	}
	if l.Origin == "" {
		return DeadLetter{}, whittle.Errorf(whittle.Invalid, "read letter: no origin")
	}
	var err error
	if l.Record, err = stream.ParseRecord(r.Value); err != nil {
		return DeadLetter{}, whittle.Errorf(whittle.Invalid, "read letter: %w", err)
	}
	if !l.Record.Intact() {
		return DeadLetter{}, whittle.Errorf(whittle.Invalid, "read letter: the record's checksum does not match")
	}
	return l, nil
}
