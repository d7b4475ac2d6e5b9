package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/carve/fleet"
	"whittle/carve/state"
)

const (
	// recordVersion is raised when a reader of the one before would misread a record.
	recordVersion = 1
	// maxRecord bounds a record as it is stored, in bytes: with its head in JSON it is within what
	// NATS takes by default. maxPlain bounds what it is unpacked.
	maxRecord = 700 << 10
	maxPlain  = 64 << 20
	// recordTime bounds the reading or writing of one record.
	recordTime = 5 * time.Second
)

// head is the value of a route's key. It is only written over the revision that the writer
// has seen.
type head struct {
	Version int    `json:"version"`
	Term    uint64 `json:"term"`
	N       uint64 `json:"n"`
	// Data is the record, packed.
	Data []byte `json:"data"`
}

// Records are the routes' records in the fleet's store, as a leader of a term reads and
// writes them. One that leads no longer writes nothing. It is a control.Store.
type Records struct {
	m    *Member
	term uint64
	// reads says that nothing is written.
	reads bool
	// life ends when the leader's term does: what is not written then, is not.
	life context.Context //nolint:containedctx // the records' own
	end  context.CancelFunc

	mu    sync.Mutex // guards the following
	heads map[string]known
}

type known struct {
	head
	revision uint64
}

// Records are those of a leader's term.
func (m *Member) Records(term uint64) *Records {
	r := m.Shown()
	r.term, r.reads = term, false
	return r
}

// Shown are the records for a gateway that does not lead.
func (m *Member) Shown() *Records {
	r := &Records{m: m, reads: true, heads: map[string]known{}}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// End makes every call fail at once, those under way too.
func (r *Records) End() { r.end() }

func recordKey(route string) string { return "record." + fleet.RouteKey(route) }

// Load reads a route's record: the zero Record where there is none.
func (r *Records) Load(route string) (state.Record, error) {
	ctx, cancel := context.WithTimeout(r.life, recordTime)
	defer cancel()
	var rec state.Record
	kv, err := r.m.bucket(ctx)
	if err != nil {
		return rec, away(err)
	}
	k, err := readHead(ctx, kv, route)
	if err != nil {
		return rec, away(err)
	}
	r.mu.Lock()
	r.heads[route] = k
	r.mu.Unlock()
	if k.revision == 0 || k.Version == 0 {
		return rec, nil
	}
	return unpack(k.Data)
}

func away(err error) error {
	switch {
	case isLate(err):
		err = errLate
	case errors.Is(err, context.Canceled):
		err = errors.New("this gateway does not lead any more")
	}
	return whittle.Errorf(whittle.Unavailable, "the fleet's store: %w", err).WithHint("is NATS there, with a majority of its servers?")
}

// readHead reads a head. Revision 0: there is none. Version 0: it is of a later version.
func readHead(ctx context.Context, kv jetstream.KeyValue, route string) (k known, err error) {
	e, err := kv.Get(ctx, recordKey(route))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return k, nil
	case err != nil:
		return k, err
	}
	k.revision = e.Revision()
	if json.Unmarshal(e.Value(), &k.head) != nil || k.Version > recordVersion {
		return k, whittle.Errorf(whittle.Unsupported, "the fleet's record of %s is of a later version", route).WithHint("update this gateway")
	}
	return k, nil
}

var (
	packer   = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) })
	unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPlain))
	})
)

func unpack(packed []byte) (rec state.Record, err error) {
	d, err := unpacker()
	if err != nil {
		return rec, err
	}
	plain, err := d.DecodeAll(packed, nil)
	if err == nil {
		err = json.Unmarshal(plain, &rec)
	}
	if err != nil {
		return state.Record{}, fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	}
	rec.Timeline = rec.Timeline[max(0, len(rec.Timeline)-state.MaxTimeline):]
	return rec, nil
}

// Save writes a route's record, on the condition that nobody else has since it was read.
func (r *Records) Save(route string, rec state.Record) error {
	if r.reads {
		return whittle.Errorf(whittle.Internal, "a gateway that does not lead saves no record")
	}
	if !r.m.conn.IsConnected() {
		return away(errors.New("no connection"))
	}
	packed, err := pack(&rec)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.life, recordTime)
	defer cancel()
	kv, err := r.m.bucket(ctx)
	if err != nil {
		return away(err)
	}
	r.mu.Lock()
	last := r.heads[route]
	r.mu.Unlock()
	next := known{head: head{Version: recordVersion, Term: r.term, N: last.N + 1, Data: packed}}
	value, err := json.Marshal(next.head)
	if err != nil {
		return err
	}
	if next.revision, err = r.put(ctx, kv, route, value, last); err != nil {
		return err
	}
	r.mu.Lock()
	r.heads[route] = next
	r.mu.Unlock()
	return nil
}

func pack(rec *state.Record) ([]byte, error) {
	plain, err := json.Marshal(rec)
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "encode a record: %w", err)
	}
	e, err := packer()
	if err != nil {
		return nil, err
	}
	packed := e.EncodeAll(plain, nil)
	if len(packed) > maxRecord || len(plain) > maxPlain {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "a route's record has %d bytes", len(plain))
	}
	return packed, nil
}

// put writes a head. If the store has another revision than expected, it may be this leader's
// own write whose acknowledgement was lost: then that is read, and written over.
func (r *Records) put(ctx context.Context, kv jetstream.KeyValue, route string, value []byte, last known) (uint64, error) {
	revision, err := write(ctx, kv, recordKey(route), value, last.revision)
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return revision, err
	}
	e, err := kv.Get(ctx, recordKey(route))
	if err != nil {
		return 0, away(err)
	}
	var there head
	if json.Unmarshal(e.Value(), &there) != nil || there.Term != r.term {
		return 0, whittle.Errorf(whittle.FailedPrecondition, "another gateway has written the fleet's record")
	}
	if bytes.Equal(e.Value(), value) {
		return e.Revision(), nil
	}
	revision, err = write(ctx, kv, recordKey(route), value, e.Revision())
	return revision, err
}

func write(ctx context.Context, kv jetstream.KeyValue, key string, value []byte, expect uint64) (revision uint64, err error) {
	if expect == 0 {
		revision, err = kv.Create(ctx, key, value)
	} else {
		revision, err = kv.Update(ctx, key, value, expect)
	}
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return 0, away(err)
	}
	return revision, err
}
