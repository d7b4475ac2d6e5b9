// Package stream is the interface of a durable stream: a record that was
// appended successfully is kept, in order by key. Its adapters are an embedded log, Kafka,
// Kinesis and JetStream; one conformance suite runs over all of them.
package stream

import (
	"context"
	"hash/crc32"
	"time"
)

// Durability names how safe a record is once Append has returned without an
// error for it. Responses to clients carry it.
type Durability string

// The classes of durability.
const (
	LocalFsync Durability = "local-fsync" // on the disk of one machine, fsynced
	KafkaAll   Durability = "kafka-all"   // acknowledged by all in-sync replicas
	Kinesis    Durability = "kinesis"     // acknowledged by Kinesis (three zones)
	JetStream  Durability = "jetstream"   // acknowledged by JetStream's quorum
)

// Header is one pair of a record's metadata. Order is kept.
type Header struct{ Name, Value string }

// Record is one event.
type Record struct {
	// ID names the event, so that a second copy is known as one. Empty: none.
	// At most MaxID bytes.
	ID string
	// Key orders records: those of one key are read in the order in which they
	// were appended. Empty: in any order. At most MaxKey bytes.
	Key string
	// Time is when the front received it, kept to the nanosecond.
	Time time.Time
	// Header is the metadata, at most MaxHeaders pairs.
	Header []Header
	// Value is the event, byte for byte as its client sent it or as the front
	// made it.
	Value []byte
	// Sum is the CRC-32C of Value, taken when Value came to be. Every adapter
	// keeps it, and every reader checks it. See Seal.
	Sum uint32
}

// Get is the value of the first header of a name. Empty: there is none.
func (r *Record) Get(name string) string {
	for i := range r.Header {
		if r.Header[i].Name == name {
			return r.Header[i].Value
		}
	}
	return ""
}

// Bounds of a record, apart from its Value, which each stream bounds (Limit).
const (
	MaxID      = 256
	MaxKey     = 256
	MaxHeaders = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C (Castagnoli, RFC 3720) that Sum holds.
func Checksum(value []byte) uint32 { return crc32.Checksum(value, castagnoli) }

// Seal sets r.Sum. The code that makes the value calls it, once, as early as
// possible: from there to the last reader a change is detected.
func (r *Record) Seal() { r.Sum = Checksum(r.Value) }

// Intact reports whether Value is what was sealed.
func (r *Record) Intact() bool { return Checksum(r.Value) == r.Sum }

// Position is a place in a stream.
type Position struct {
	// Partition is the part of the stream that has an order of its own: "0" in
	// an embedded log, a Kafka partition's number, a Kinesis shard's id.
	Partition string
	// Offset is a decimal number of any length that grows along the partition.
	// Empty: it is not known.
	Offset string
}

// Result is what became of one record.
type Result struct {
	// Position is where it is. Only where Err is nil.
	Position Position
	// Err is nil when the record is durable. Otherwise its code says what is
	// known. ResourceExhausted and Unavailable: it was not kept, and a retry may
	// help. Invalid: it was not kept, and a retry will not help.
	// DeadlineExceeded, Canceled and Internal: it may have been kept.
	Err error
}

// Entry is a record as it was read.
type Entry struct {
	Record
	Position Position
}

// Capacity is what a stream can accept at the moment.
type Capacity struct {
	// Free is how many bytes it would accept without refusing any.
	Free int64
	// Rate is how many bytes a second become free, as measured. 0: not known.
	Rate float64
	// Err is the reason why it accepts nothing (the disk is full, the sink is
	// down); nil while it does.
	Err error
	// Failing is why the last records were not kept although nothing was wrong with them
	// (the sink's settings, who we are, the clock); nil since one was. It is worth a try.
	Failing error
}

// Refusal is an error that the sink itself gave, under its own name for it.
type Refusal struct {
	Name string
	Err  error
}

// Error implements error.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap gives the sink's error.
func (r *Refusal) Unwrap() error { return r.Err }

// Stream keeps records.
//
// All methods may be called from many goroutines at once.
type Stream interface {
	// Durability is the class that a record has after a successful Append.
	Durability() Durability
	// Limit is the largest encoded record in bytes (EncodedLen) that Append takes.
	Limit() int
	// Append returns once each record is durable or has failed: one result a
	// record, in order. Records of one call and one key are kept in the order
	// given, and before those of later calls; a record that fails does not
	// let a later one of its key in this call pass it. The records' memory is
	// the caller's again when Append returns. When ctx ends, Append returns
	// soon; what was in flight has DeadlineExceeded or Canceled as its code.
	Append(ctx context.Context, records []Record) []Result
	// Capacity returns what the stream can accept. It is cheap: called for
	// every request.
	Capacity() Capacity
	// Close refuses new appends (Unavailable), waits for those in flight until
	// ctx ends, and releases everything. Only the first call has an effect.
	Close(ctx context.Context) error
}

// Copying is a Stream that copies records before it waits for them to be durable.
type Copying interface {
	Stream
	// AppendCopy is Append, but that it calls copied, once at most, as soon as all
	// records are copied: from then on their memory is the caller's again, and none of
	// them fails as Invalid. Where copied is not called, it is as with Append.
	AppendCopy(ctx context.Context, records []Record, copied func()) []Result
}
