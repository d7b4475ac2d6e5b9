package relay

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"whittle/systems/ingest/stream"
)

// Proof is what one side of a move holds.
//
// Content is the same for two sides that hold the same records the same number
// of times, in whatever order: the sum, modulo 2^256, of the SHA-256 of each
// record's encoding (AppendRecord: sum, time, id, key, headers and value),
// read as little-endian numbers. It proves against faults, and not against
// somebody who chooses records so that they add up.
//
// Order is the same where, in addition, the records of each key come in the same
// order: for each key the chain h = SHA-256(h, SHA-256 of the record), and over
// the keys the sum of SHA-256(key, h) as above. A key's first copy counts.
type Proof struct {
	Records, Bytes uint64 // bytes as encoded
	Content        string // 64 hexadecimal digits
	Order          string
	// Keys is how many keys Order is about. It is about all of them, or about
	// one of 2^Sample, chosen by hash, where they were too many to be held.
	Keys   uint64
	Sample uint
}

// digestText is the length of a record's digest in its origin: 12 bytes of its
// SHA-256.
const digestText = 16

type digest [sha256.Size]byte

func (d digest) text() string { return base64.RawURLEncoding.EncodeToString(d[:12]) }

// hasher makes digests; it keeps a buffer.
type hasher struct{ buf []byte }

func (h *hasher) of(r *stream.Record) digest {
	h.buf = stream.AppendRecord(h.buf[:0], r)
	return sha256.Sum256(h.buf)
}

// multiset is a number modulo 2^256.
type multiset [4]uint64

func (m *multiset) add(d digest) {
	var carry uint64
	for i := range m {
		m[i], carry = bits.Add64(m[i], binary.LittleEndian.Uint64(d[8*i:]), carry)
	}
}

func (m *multiset) text() string {
	var b []byte
	for _, word := range m {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return hex.EncodeToString(b)
}

// tracker accumulates a proof.
type tracker struct {
	records, bytes uint64
	content        multiset
	chains         map[keyHash]digest
	sample         uint
	maxKeys        int
}

type keyHash [16]byte

func newTracker(maxKeys int) *tracker {
	return &tracker{chains: map[keyHash]digest{}, maxKeys: maxKeys}
}

func (t *tracker) add(key string, size int, d digest) {
	t.records++
	t.bytes += uint64(size)
	t.content.add(d)
	if key == "" {
		return
	}
	sum := sha256.Sum256([]byte(key))
	k := keyHash(sum[:16])
	if !k.in(t.sample) {
		return
	}
	h := t.chains[k]
	t.chains[k] = sha256.Sum256(append(h[:], d[:]...))
	if len(t.chains) > t.maxKeys {
		t.narrow(t.sample + 1)
	}
}

// in reports whether a key belongs to the sample of one in 2^n.
func (k keyHash) in(n uint) bool {
	return bits.TrailingZeros64(binary.LittleEndian.Uint64(k[:])) >= int(n)
}

func (t *tracker) narrow(sample uint) {
	t.sample = max(t.sample, sample)
	for k := range t.chains {
		if !k.in(t.sample) {
			delete(t.chains, k)
		}
	}
}

func (t *tracker) proof() Proof {
	var order multiset
	for k, h := range t.chains {
		order.add(sha256.Sum256(append(k[:], h[:]...)))
	}
	return Proof{
		Records: t.records, Bytes: t.bytes, Content: t.content.text(), Order: order.text(),
		Keys: uint64(len(t.chains)), Sample: t.sample,
	}
}

// bitmap is a set of numbers. It grows by need.
type bitmap []uint64

func (b *bitmap) set(n uint64) (had bool) {
	for uint64(len(*b)) <= n/64 {
		*b = append(*b, 0)
	}
	had = (*b)[n/64]>>(n%64)&1 == 1
	(*b)[n/64] |= 1 << (n % 64)
	return had
}

func (b bitmap) has(n uint64) bool { return n/64 < uint64(len(b)) && b[n/64]>>(n%64)&1 == 1 }
