package relay

import (
	"whittle"
	"whittle/systems/ingest/stream"
)

// reasonHeader is the header of a dead letter that has the reason, of reasonLimit bytes
// at most. OriginHeader has the origin.
const (
	reasonHeader = "Whittle-Reason"
	reasonLimit  = 4 << 10
)

// DeadLetter is a record that the sink rejected, as it is stored in the dead
// letters.
type DeadLetter struct {
	// Record is what was appended, without an origin.
	Record stream.Record
	// Reason is what the sink said.
	Reason string
	// Origin is "id/number" of the sender: which log, and where in it.
	Origin string
}

// seal makes the record for the dead letters. Its id, key and time are the
// record's, and its value is the record's whole encoding, so that no bound on
// headers can lose any of it.
func (l *DeadLetter) seal() stream.Record {
	reason := l.Reason[:min(len(l.Reason), reasonLimit)]
	r := stream.Record{
		ID: l.Record.ID, Key: l.Record.Key, Time: l.Record.Time,
		Header: []stream.Header{{Name: reasonHeader, Value: reason}, {Name: OriginHeader, Value: l.Origin}},
		Value:  stream.AppendRecord(make([]byte, 0, stream.EncodedLen(&l.Record)), &l.Record),
	}
	r.Seal()
	return r
}

// deadLetterOverhead is how much longer a dead letter may be than its record.
const deadLetterOverhead = stream.MaxID + stream.MaxKey + len(reasonHeader) + reasonLimit + originLen + 64

// ReadDeadLetter decodes a record of the dead letters. Its error is Invalid
// when r is not a dead letter or is damaged.
func ReadDeadLetter(r *stream.Record) (DeadLetter, error) {
	if !r.Intact() {
		return DeadLetter{}, whittle.Errorf(whittle.Invalid, "read letter: the checksum does not match")
	}
	l := DeadLetter{Reason: r.Get(reasonHeader), Origin: r.Get(OriginHeader)}
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
