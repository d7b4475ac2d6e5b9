package kinesis

import (
	"fmt"
	"strings"
)

// An offset is Kinesis' sequence number followed by indexDigits digits: the
// record's place within an aggregated one, 0 where it is alone. It grows along
// a shard, and an offset that is one higher than a record's lies right behind it.
const (
	indexDigits = 6
	maxIndex    = 999_999
)

// maxSequence bounds the digits of a sequence number; Kinesis uses 56.
const maxSequence = 128

func offset(sequence string, place int) string {
	return fmt.Sprintf("%s%0*d", sequence, indexDigits, place)
}

// splitOffset returns an offset's parts; "" is the beginning.
func splitOffset(off string) (sequence string, place int, err error) {
	if off == "" {
		return "", 0, nil
	}
	n := len(off) - indexDigits
	if n < 1 || n > maxSequence || strings.Trim(off, "0123456789") != "" {
		return "", 0, fmt.Errorf("%q is no offset of a Kinesis stream", off)
	}
	for _, d := range off[n:] {
		place = place*10 + int(d-'0')
	}
	return off[:n], place, nil
}
