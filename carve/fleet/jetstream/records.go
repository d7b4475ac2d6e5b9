package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	// maxPart bounds one key's part of a record, in bytes, and maxRecord the whole.
	maxPart   = 512 << 10
	maxRecord = 32 << 20
	// recordTime bounds the reading or writing of one record.
	recordTime = 5 * time.Second
)

// head is the value of a route's key. It is only written over the revision that the writer
// has seen. What does not fit into it is in keys of its own, which are written first.
type head struct {
	Version int    `json:"version"`
	Term    uint64 `json:"term"`
	N       uint64 `json:"n"`
	// Sum is that of the record as it is stored, in parts.
	Sum   string   `json:"sum"`
	Parts []string `json:"parts,omitempty"`
	Data  []byte   `json:"data,omitempty"`
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
	packed, err := parts(ctx, kv, &k.head)
	if err != nil {
		return rec, err
	}
	return unpack(packed)
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

func parts(ctx context.Context, kv jetstream.KeyValue, h *head) ([]byte, error) {
	packed := h.Data
	for _, part := range h.Parts {
		e, err := kv.Get(ctx, part)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			return nil, fmt.Errorf("%w: a part is gone", state.ErrCorrupt)
		case err != nil:
			return nil, away(err)
		}
		if packed = append(packed, e.Value()...); len(packed) > maxRecord {
			return nil, fmt.Errorf("%w: it is too large", state.ErrCorrupt)
		}
	}
	if sum(packed) != h.Sum {
		return nil, fmt.Errorf("%w: its sum is another one", state.ErrCorrupt)
	}
	return packed, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

var (
	packer   = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) })
	unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxRecord))
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
	next := known{head: head{Version: recordVersion, Term: r.term, N: last.N + 1, Sum: sum(packed), Data: packed}}
	if len(packed) > maxPart {
		if err := next.split(ctx, kv, route, packed); err != nil {
			return away(err)
		}
	}
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
	drop(ctx, kv, last.Parts, next.Parts)
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
	if len(packed) > maxRecord || len(plain) > 2*maxRecord {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "a route's record has %d bytes", len(plain))
	}
	return packed, nil
}

// split writes what does not fit into the head. The keys are named by the term and alternate
// from record to record, so a gateway that leads no more writes over nothing that is in use.
func (k *known) split(ctx context.Context, kv jetstream.KeyValue, route string, packed []byte) error {
	k.Data = nil
	for i := 0; len(packed) > 0; i++ {
		part := packed[:min(len(packed), maxPart)]
		packed = packed[len(part):]
		key := fmt.Sprintf("part.%s.%d.%d.%d", fleet.RouteKey(route), k.Term, k.N%2, i)
		if _, err := kv.Put(ctx, key, part); err != nil {
			return err
		}
		k.Parts = append(k.Parts, key)
	}
	return nil
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

// drop removes the parts of a record that is not in use any more. What cannot be removed
// stays, within the bucket's bound.
func drop(ctx context.Context, kv jetstream.KeyValue, parts, but []string) {
	for _, p := range parts {
		if !slices.Contains(but, p) {
			_ = kv.Purge(ctx, p)
		}
	}
}
