package units

import (
	"fmt"
	"strconv"
	"strings"
)

// Bytes is a number of bytes as people write it: 32KiB, 500KB, 1.5G, 4096.
type Bytes int64

var byteUnits = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10},
	{"mib", 1 << 20},
	{"gib", 1 << 30},
	{"tib", 1 << 40},
	{"kb", 1e3},
	{"mb", 1e6},
	{"gb", 1e9},
	{"tb", 1e12},
	{"k", 1 << 10},
	{"m", 1 << 20},
	{"g", 1 << 30},
	{"t", 1 << 40},
	{"b", 1},
	{"", 1},
}

// UnmarshalText reads one.
func (b *Bytes) UnmarshalText(text []byte) error {
	word := strings.ToLower(strings.TrimSpace(string(text)))
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(word, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || n < 0 || n*u.bytes >= 1<<62 {
			break
		}
		*b = Bytes(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size: a number and a unit, such as 32KiB, 500KB or 10GiB", text)
}

// String writes it with the largest unit that gives a whole number.
func (b Bytes) String() string {
	for _, u := range []struct {
		name  string
		bytes Bytes
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b >= u.bytes && b%u.bytes == 0 {
			return strconv.FormatInt(int64(b/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// MarshalText writes what UnmarshalText reads.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
