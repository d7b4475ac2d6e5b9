package dedup

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"strconv"

	"whittle/systems/ingest/stream"
)

// packedPosition is a position in few bytes.
type packedPosition struct {
	partition uint32    // its number plus 1, 0 where the place is not known
	offset    [3]uint64 // the lowest 64 bits first
}

// maxPartitions bounds the names that are remembered.
const maxPartitions = 1<<16 - 1

// partitionNames numbers the partitions.
type partitionNames struct {
	names   []string
	numbers map[string]uint32
	last    uint32 // the number asked for last, 0 where there was none: most ask for it again
}

// pack packs a position. The zero place means one that cannot be packed.
func (p *partitionNames) pack(at stream.Position) packedPosition {
	offset, ok := parseOffset(at.Offset)
	if !ok {
		return packedPosition{}
	}
	if p.last == 0 || p.names[p.last-1] != at.Partition {
		p.last = p.number(at.Partition)
	}
	if p.last == 0 {
		return packedPosition{}
	}
	return packedPosition{partition: p.last, offset: offset}
}

// number is the partition's, 0 for one too many.
func (p *partitionNames) number(name string) uint32 {
	if n := p.numbers[name]; n != 0 || len(p.names) >= maxPartitions {
		return n
	}
	if p.numbers == nil {
		p.numbers = map[string]uint32{}
	}
	p.names = append(p.names, name)
	n := uint32(len(p.names))
	p.numbers[name] = n
	return n
}

// unpack unpacks a place.
func (p *partitionNames) unpack(at packedPosition) stream.Position {
	if at.partition == 0 {
		return stream.Position{}
	}
	return stream.Position{Partition: p.names[at.partition-1], Offset: formatOffset(at.offset)}
}

// parseOffset reads a decimal number below 2^192, written without leading
// zeros: only such a one comes back as it was.
func parseOffset(s string) (v [3]uint64, ok bool) {
	if s == "" || len(s) > 1 && s[0] == '0' {
		return v, false
	}
	const fits = 19 // digits, of which every number fits into 64 bits
	if len(s) <= fits {
		for i := range len(s) {
			digit := s[i] - '0'
			if digit > 9 {
				return [3]uint64{}, false
			}
			v[0] = 10*v[0] + uint64(digit)
		}
		return v, true
	}
	for i := range len(s) {
		digit := uint64(s[i] - '0')
		if digit > 9 {
			return v, false
		}
		for w := range v {
			high, low := bits.Mul64(v[w], 10)
			sum, carry := bits.Add64(low, digit, 0)
			v[w], digit = sum, high+carry
		}
		if digit != 0 {
			return [3]uint64{}, false
		}
	}
	return v, true
}

func formatOffset(v [3]uint64) string {
	if v[1]|v[2] == 0 {
		return strconv.FormatUint(v[0], 10)
	}
	var b [24]byte
	for w := range v {
		binary.BigEndian.PutUint64(b[16-8*w:], v[w])
	}
	return new(big.Int).SetBytes(b[:]).String()
}
