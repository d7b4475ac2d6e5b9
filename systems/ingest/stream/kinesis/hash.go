package kinesis

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"unicode/utf8"
)

// hash is a place in Kinesis' hash space: a number of 128 bits.
type hash struct{ hi, lo uint64 }

// hashOf is Kinesis' own way from a partition key to a hash: its MD5, read as
// a big-endian number.
func hashOf(partitionKey string) hash {
	sum := md5.Sum([]byte(partitionKey))
	return hash{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])}
}

func (h hash) compare(o hash) int {
	if c := cmp.Compare(h.hi, o.hi); c != 0 {
		return c
	}
	return cmp.Compare(h.lo, o.lo)
}

// String is the decimal number that ExplicitHashKey takes.
func (h hash) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], h.hi)
	binary.BigEndian.PutUint64(b[8:], h.lo)
	return new(big.Int).SetBytes(b[:]).String()
}

func parseHash(decimal string) (hash, error) {
	n, ok := new(big.Int).SetString(decimal, 10)
	if !ok || n.Sign() < 0 || n.BitLen() > 128 {
		return hash{}, fmt.Errorf("%q is no hash key", decimal)
	}
	var b [16]byte
	n.FillBytes(b[:])
	return hash{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}, nil
}

// span is a shard's part of the hash space, both ends included.
type span struct{ from, to hash }

func (s span) has(h hash) bool { return s.from.compare(h) <= 0 && h.compare(s.to) <= 0 }

// partitionKey is the partition key for a record's key. Kinesis takes text
// only; a key that is none is represented by its MD5.
func partitionKey(key string) string {
	if utf8.ValidString(key) {
		return key
	}
	sum := md5.Sum([]byte(key))
	return hex.EncodeToString(sum[:])
}
