package relay

import (
	"bytes"

	"whittle"
	"whittle/systems/ingest/stream"
)

// sharedLen is how much memory small values share, each at most a quarter of it.
// One that waits for long keeps those alive that it shares with, so it is little;
// a piece of memory for each of them would cost a drain a tenth of its speed.
const sharedLen = 16 << 10

// packer copies values into memory of its own.
type packer struct{ shared []byte }

func (p *packer) copy(value []byte) []byte {
	if len(value) > sharedLen/4 {
		return bytes.Clone(value)
	}
	if cap(p.shared)-len(p.shared) < len(value) {
		p.shared = make([]byte, 0, sharedLen)
	}
	at := len(p.shared)
	p.shared = append(p.shared, value...)
	return p.shared[at:len(p.shared):len(p.shared)]
}

// newItem copies a record whose memory the reader uses again, and stamps it with its origin,
// where there is room for that.
func (d *drain) newItem(seq uint64, e *stream.Entry) *item {
	it := &item{seq: seq, at: e.Position, fingerprint: e.Fingerprint(), record: e.Record, queue: keyQueueOf(e.Key, seq)}
	it.record.Value = d.values.copy(e.Value)
	plain := make([]stream.Header, len(e.Header), len(e.Header)+1)
	copy(plain, e.Header)
	it.record.Header = plain
	it.size = stream.EncodedLen(&it.record)
	limit := d.sink.Limit()
	if len(plain) < stream.MaxHeaders && !d.scanner.noHeaders {
		digest := ""
		if d.digest != nil {
			digest = d.digest(&it.record)
		}
		it.record.Header = append(plain, stream.Header{Name: OriginHeader, Value: formatOrigin(d.id, seq, digest)})
		if size := stream.EncodedLen(&it.record); size <= limit {
			it.size, it.marked = size, true
		} else {
			it.record.Header = plain
		}
	}
	switch {
	case it.size > limit:
		it.rejection = whittle.Errorf(whittle.Invalid, "the record has %d bytes and the sink takes %d", it.size, limit)
	case !it.marked && d.digest != nil:
		it.rejection = whittle.Errorf(whittle.Invalid, "the record has %d bytes and %d headers: no room for its origin", it.size, len(plain))
	}
	return it
}

// deadLetter is the item for the dead letters.
func (d *drain) deadLetter(it *item) stream.Record {
	r := it.record
	if it.marked {
		r.Header = r.Header[:len(r.Header)-1]
	}
	l := DeadLetter{Record: r, Reason: it.rejection.Error(), Origin: formatOrigin(d.id, it.seq, "")}
	return l.seal()
}
