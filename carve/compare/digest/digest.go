// Package digest hashes places, values and requests, to recognize them again. The hashes are quick, not
// cryptographic, and the same in every process, so they can be saved.
package digest

// Remembered is how many hashes of requests' shapes, bodies or users a memory holds. It only bounds the
// memory, to some 100 KiB each.
const Remembered = 4096

// Mix spreads the bits of a word (the finalizer of SplitMix64, Steele and others 2014), which makes sums
// of hashes safe: without it equal bits would cancel.
func Mix(h uint64) uint64 {
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}

// FNV is the 64-bit FNV-1a hash.
func FNV(b []byte) uint64 { return FNVOn(14695981039346656037, b) }

// FNVOn continues a hash of FNV.
func FNVOn(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// Hash is FNV-1a over the bytes given to it.
type Hash uint64

// Byte adds a byte.
func (h *Hash) Byte(c byte) { *h = (*h ^ Hash(c)) * 1099511628211 }

// Text adds a text and its end.
func (h *Hash) Text(s string) {
	for i := range len(s) {
		h.Byte(s[i])
	}
	h.Byte(0)
}
