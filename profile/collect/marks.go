package collect

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"time"
)

// marksSource is the function that notes in a Node process whose turn it is: see there.
//
//go:embed marks.js
var marksSource string

// marksGrace is how long marks outlive the profile that they are for, before
// they end by themselves.
const marksGrace = 30 * time.Second

// marks are what a Node process worked for, turn by turn of its event loop, and how
// many requests there were of each path.
type marks struct {
	names  []string // "GET /things/17"
	counts []int64
	times  []float64 // V8's clock, in microseconds; in order
	codes  []int32   // what happened to whose request; 0: the turn ends
	cut    bool      // nothing was noted after the last of them, before the profile's end
}

// The bits of a code above the name's number, which counts from 1.
const (
	nameBits = 1<<16 - 1
	begins   = 1 << 16 // the request begins, and with it its turn
	over     = 2 << 16 // it is over, and its turn goes on
)

// marksKey names the marks of one profile in the process.
func (i *inspector) marksKey() string {
	return fmt.Sprintf("globalThis[Symbol.for('whittle.marks')]?.get(%q)", i.marking)
}

// mark begins to note. A process that cannot is profiled without.
func (i *inspector) mark(ctx context.Context, d time.Duration) {
	i.marking = rand.Text()
	began := false
	if i.evaluateStill(ctx, fmt.Sprintf("%s(%q, %d)", marksSource, i.marking, (d+marksGrace).Milliseconds()), &began) != nil || !began {
		i.marking = ""
	}
}

// unmark ends the notes.
func (i *inspector) unmark(ctx context.Context) {
	if i.marking == "" {
		return
	}
	_ = i.evaluateStill(ctx, i.marksKey()+"?.stop()", nil) // else they end by themselves
	i.marking = ""
}

// marked gives what was noted so far. nil: there is nothing.
func (i *inspector) marked(ctx context.Context) *marks {
	if i.marking == "" {
		return nil
	}
	var text string
	if i.evaluateStill(ctx, i.marksKey()+"?.result()", &text) != nil {
		return nil
	}
	return readMarks([]byte(text))
}

// readMarks reads what marks.js gives. nil: it makes no sense.
func readMarks(text []byte) *marks {
	var r struct {
		Names  []string `json:"names"`
		Counts []int64  `json:"counts"`
		Offset float64  `json:"offset"`
		Cut    bool     `json:"cut"`
		Times  string   `json:"times"`
		Codes  string   `json:"codes"`
	}
	if json.Unmarshal(text, &r) != nil || len(r.Counts) != len(r.Names) {
		return nil
	}
	times, err := base64.StdEncoding.DecodeString(r.Times)
	if err != nil {
		return nil
	}
	codes, err := base64.StdEncoding.DecodeString(r.Codes)
	if err != nil || len(times)/8 != len(codes)/4 {
		return nil
	}
	m := &marks{names: r.Names, counts: r.Counts, cut: r.Cut}
	for at := 0; at+8 <= len(times); at += 8 {
		m.times = append(m.times, math.Float64frombits(binary.LittleEndian.Uint64(times[at:]))*1000+r.Offset)
	}
	for at := 0; at+4 <= len(codes); at += 4 {
		m.codes = append(m.codes, int32(binary.LittleEndian.Uint32(codes[at:])))
	}
	if m.cut && len(m.codes) > 0 {
		m.codes[len(m.codes)-1] = 0 // nobody knows for whom the process works from then on
	}
	return m
}

// turn numbers the turns of the event loop: the last note before a moment.
func (m *marks) turn(microseconds float64) int {
	n := sort.SearchFloat64s(m.times, microseconds)
	if n < len(m.times) && m.times[n] == microseconds {
		n++
	}
	for n > 0 && m.codes[n-1]&^nameBits == over {
		n--
	}
	return n
}

// turns are the moments at which one turn ended and the next began, since a moment of V8's
// clock.
func (m *marks) turns(since time.Duration) []time.Duration {
	var out []time.Duration
	for i, code := range m.codes {
		if code&^nameBits != over {
			out = append(out, time.Duration(m.times[i]*float64(time.Microsecond))-since)
		}
	}
	return out
}

// at gives the request that the process worked for at a moment of V8's clock. "":
// for none that is known.
func (m *marks) at(microseconds float64) string {
	n := m.turn(microseconds)
	if n == 0 {
		return ""
	}
	return m.name(m.codes[n-1])
}

// name is that of a code's request. "": it has none.
func (m *marks) name(code int32) string {
	if n := int(code & nameBits); n > 0 && n <= len(m.names) {
		return m.names[n-1]
	}
	return ""
}

// requests counts them by the endpoint that serves them.
func (m *marks) requests(endpoint func(name string) string) map[string]int64 {
	out := map[string]int64{}
	for i, name := range m.names {
		if m.counts[i] > 0 {
			out[endpoint(name)] += m.counts[i]
		}
	}
	return out
}
