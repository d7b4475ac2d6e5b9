// Package event turns the bodies of Segment's HTTP API into sealed records. It
// is pure: the time, the client's address and the source of new ids are
// arguments, and nothing is kept between two calls but memory.
//
// What an event brings is kept byte for byte and in its order: the package
// never decodes and encodes an event, it splices what is to be added into the
// bytes that came. So numbers that no float holds (12345678901234567890, 1e400)
// and members that nobody here knows reach the stream as they were sent.
package event

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Kind is what a call says of its body.
type Kind string

// The kinds. An event's own kind is one of the first six.
const (
	Track    Kind = "track"
	Identify Kind = "identify"
	Page     Kind = "page"
	Screen   Kind = "screen"
	Group    Kind = "group"
	Alias    Kind = "alias"
	// Bulk is a body with a member "batch": an array of events that each name
	// their kind as "type".
	Bulk Kind = "batch"
	// Import is any body. One with a batch is read as Bulk, any other gives
	// ErrNoBatch.
	Import Kind = "import"
)

// short are the one-letter paths that old clients use.
var short = map[string]Kind{"t": Track, "i": Identify, "p": Page, "s": Screen, "g": Group, "a": Alias, "b": Bulk}

// KindOf returns the kind that the last element of a path names: the kind itself
// or its first letter.
func KindOf(name string) (Kind, bool) {
	switch k := Kind(name); k {
	case Track, Identify, Page, Screen, Group, Alias, Bulk, Import:
		return k, true
	}
	k, ok := short[name]
	return k, ok
}

// Limits bound a body and what is made of it. A zero field means its default.
type Limits struct {
	// Event is the largest event as it was sent, together with what a batch's
	// context and integrations add to it, in bytes. Default 32 KiB.
	Event int
	// Batch is the largest body with a batch, in bytes. Default 500 KiB.
	Batch int
	// Events is the largest number of events in a batch. Default 2,500.
	Events int
	// Merged bounds the bytes of all records of a batch together: a context
	// that is merged into many events makes much of little. Default 8 MiB.
	Merged int
	// Past and Future say how far before and after its arrival an event can
	// have happened. Default 30 years and 24 hours.
	Past, Future time.Duration
}

// Call is what is known of a body in addition to its bytes.
type Call struct {
	Kind Kind
	// Received is when the body arrived.
	Received time.Time
	// Address is the client's, without a port; it becomes context.ip where an
	// event has none. Empty: nothing is added.
	Address string
	// WriteKey is the one that came outside the body, by Basic auth or as a
	// bearer. It goes before the body's. Empty: the body's is taken.
	WriteKey string
	// Header is more metadata for each record, after the package's own.
	Header []stream.Header
	// NewID makes the messageId of an event that has none: a string of 1 to 99
	// characters that no one else makes. It must not be nil.
	NewID func() string
}

// Batch is what a body holds. Its memory belongs to the Parser that made it
// until that one's next call.
type Batch struct {
	// WriteKey is the call's, else the body's. Empty: neither has one.
	WriteKey string
	// Shared is what the batch gives to its events in addition to the write key, as
	// members of an object with a comma behind each: `"context":{},"sentAt":"",`.
	Shared []byte
	// ID and Key are what a body that is no batch says of itself, where its kind
	// is Import: its messageId, and its userId or else its anonymousId. Empty:
	// it says nothing, or what is no text within a record's bounds.
	ID, Key string
	// Items are the events in the body's order. One body of a kind that is not
	// a batch has one.
	Items []Item
}

// Item is one event.
type Item struct {
	// Record is sealed. It has the event's messageId as ID, its userId or else
	// its anonymousId as Key and the names below as Header. Header is shared
	// between records: it is not to be changed. Only where Err is nil.
	Record stream.Record
	// Err says why the event is not accepted: with the code Invalid where it
	// is wrong, ResourceExhausted where it is too large. Its text is made for
	// the client. Nil: it is.
	Err error
	// Raw is the event as it was sent, and Offset the byte of the body at which
	// it begins or, where it is not JSON, at which that shows.
	Raw    []byte
	Offset int
}

// The names of a record's own metadata.
const (
	// HeaderKind holds the event's Kind.
	HeaderKind = "kind"
	// HeaderSource holds the Digest of the write key. It is the tenant that
	// the event belongs to.
	HeaderSource = "source"
	// HeaderType holds the value's media type, application/json.
	HeaderType = "content-type"
)

// Digest names a write key without revealing it: the first 16 hexadecimal digits
// of its SHA-256. "" for "".
func Digest(writeKey string) string {
	if writeKey == "" {
		return ""
	}
	return DigestOf(sha256.Sum256([]byte(writeKey)))
}

// DigestOf is the Digest of the write key with this SHA-256.
func DigestOf(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:8]) }

// Source returns the HeaderSource of a record, "" where it has none.
func Source(r *stream.Record) string { return r.Get(HeaderSource) }

// ErrNoBatch says that a body is JSON and has no member "batch" that is an
// array. A body of kind Import is then one record as it is, and the Batch has
// its ID and Key.
var ErrNoBatch error = whittle.Errorf(whittle.Invalid, "the body has no array named batch")

func (l Limits) orDefault() Limits {
	l.Event = cmp.Or(max(l.Event, 0), 32<<10)
	l.Batch = cmp.Or(max(l.Batch, 0), 500<<10)
	l.Events = cmp.Or(max(l.Events, 0), 2500)
	l.Merged = cmp.Or(max(l.Merged, 0), 8<<20)
	l.Past = cmp.Or(max(l.Past, 0), 30*365*24*time.Hour)
	l.Future = cmp.Or(max(l.Future, 0), 24*time.Hour)
	return l
}
