package latency

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// maxEncoded bounds the encoded buckets that are read back. A histogram with
// every bucket filled stays well below it.
const maxEncoded = 1 << 20

// histogramJSON carries the buckets in HdrHistogram's own V2 encoding
// (microseconds), so that any HDR tool can plot them.
type histogramJSON struct {
	Unit    string `json:"unit"`
	HDR     string `json:"hdr,omitempty"`
	Min     int64  `json:"min_ns"`
	Max     int64  `json:"max_ns"`
	SumHigh uint64 `json:"sum_high,omitempty"`
	SumLow  uint64 `json:"sum_ns"`
	Below   int64  `json:"below,omitempty"`
	Above   int64  `json:"above,omitempty"`
}

// MarshalJSON writes the whole histogram; merging two that were read back
// gives what merging them before would have given.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	j := histogramJSON{
		Unit: "us", Min: int64(h.min), Max: int64(h.max),
		SumHigh: h.sumHigh, SumLow: h.sumLow, Below: h.below, Above: h.above,
	}
	if h.Count() > 0 {
		b, err := h.hdr.EncodeV2()
		if err != nil {
			return nil, fmt.Errorf("encode histogram: %w", err)
		}
		j.HDR = string(b)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote, and refuses what it could not
// have written.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	var j histogramJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("read histogram: %w", err)
	}
	if j.Unit != "us" {
		return fmt.Errorf("read histogram: unit %q where only \"us\" is known", j.Unit)
	}
	if len(j.HDR) > maxEncoded {
		return fmt.Errorf("read histogram: %d bytes of buckets, %d at most", len(j.HDR), maxEncoded)
	}
	if j.HDR == "" {
		*h = Histogram{}
		return nil
	}
	// The packed form takes memory by what is in it, not by the geometry that
	// an unknown writer claims.
	p, err := hdr.DecodePacked([]byte(j.HDR))
	if err != nil {
		return fmt.Errorf("read histogram: %w", err)
	}
	if p.LowestTrackableValue() != 1 || p.HighestTrackableValue() != int64(Highest/Lowest) || p.SignificantFigures() != digits {
		return fmt.Errorf("read histogram: its range is not 1 µs to 1 h at %d digits", digits)
	}
	dense, err := hdr.Decode([]byte(j.HDR))
	if err != nil {
		return fmt.Errorf("read histogram: %w", err)
	}
	n := dense.TotalCount()
	if j.Min < 0 || j.Max < j.Min || j.Below < 0 || j.Above < 0 || j.Below > n-j.Above || n == 0 {
		return fmt.Errorf("read histogram: its figures contradict each other")
	}
	if high, low := bits.Mul64(uint64(j.Max), uint64(n)); j.SumHigh > high || (j.SumHigh == high && j.SumLow > low) {
		return fmt.Errorf("read histogram: a sum above count times maximum")
	}
	*h = Histogram{
		hdr: dense, below: j.Below, above: j.Above, min: time.Duration(j.Min), max: time.Duration(j.Max),
		sumHigh: j.SumHigh, sumLow: j.SumLow,
	}
	return nil
}
