package form

import (
	"bytes"
	"slices"
	"strings"
)

var durationUnits = strings.Fields("ns us ms s sec secs second seconds m min mins minute minutes h hr hrs hour hours d day days w week weeks")

// isDuration reports whether a text is a length of time, such as 1h5m, 3 minutes ago or
// PT14M30S. Of two servers, each says how long it has been running, so another length of the
// text is no fault.
func isDuration(s []byte) bool {
	if len(s) == 0 || len(s) > 40 {
		return false
	}
	s = bytes.TrimSuffix(bytes.ToLower(s), []byte(" ago"))
	s = bytes.TrimPrefix(bytes.TrimPrefix(bytes.TrimPrefix(s, []byte("in ")), []byte("p")), []byte("t"))
	units := 0
	for len(s) > 0 {
		rest := bytes.TrimLeft(s, "0123456789.")
		if len(rest) == len(s) {
			return false
		}
		rest = bytes.TrimLeft(rest, " ")
		unit := rest[:len(rest)-len(bytes.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))]
		s = bytes.TrimLeft(rest[len(unit):], " ,")
		if string(unit) == "dt" { // P1DT2H
			unit = unit[:1]
		}
		if !slices.Contains(durationUnits, string(unit)) {
			return false
		}
		units++
	}
	return units > 0
}
