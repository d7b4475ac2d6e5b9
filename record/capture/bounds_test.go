package capture

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// TestAnEntryAtTheBoundsIsKept: what is just as large, as late or as many as the bounds
// say is written, and read again.
func TestAnEntryAtTheBoundsIsKept(t *testing.T) {
	names := whittle.Header{}
	for i := range MaxHeaders {
		names[fmt.Sprintf("%03d", i)] = []string{"v"}
	}
	long := strings.Repeat("x", MaxText)
	wide := whittle.Header{"X": nil}
	for left := MaxHeaderBytes - len("X"); left > 0; left -= MaxText {
		wide["X"] = append(wide["X"], long[:min(left, MaxText)])
	}
	for name, change := range map[string]func(*Entry){
		"names":  func(e *Entry) { e.Request.Header = names },
		"values": func(e *Entry) { e.Response.Header = whittle.Header{"X": slices.Repeat([]string{""}, MaxHeaders)} },
		"header": func(e *Entry) { e.Response.Trailer = wide },
		"texts": func(e *Entry) {
			e.Route, e.Request.Method, e.Request.Target, e.Request.Host, e.Response.Detail = long, long, long, long, long
		},
		"bodies":  func(e *Entry) { e.Request.Body, e.Response.Body = make([]byte, MaxBody), make([]byte, MaxBody) },
		"status":  func(e *Entry) { e.Response.Status = maxStatus },
		"no more": func(e *Entry) { e.Response.Status = 0 },
		"oldest":  func(e *Entry) { e.At = oldest.UTC() },
		"newest":  func(e *Entry) { e.At = newest.Add(-1) },
	} {
		e := full()
		change(e)
		b, err := AppendEntry(nil, e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got Entry
		var d Decoder
		if rest, err := d.Decode(b, &got); err != nil || len(rest) > 0 || !reflect.DeepEqual(&got, e) {
			t.Errorf("%s: another entry came back, %v", name, err)
		}
	}
}

// TestABlockIsFullAtItsBound: one byte more is refused, and leaves the block as it was.
func TestABlockIsFullAtItsBound(t *testing.T) {
	e := full()
	e.Request.Body, e.Response.Body = make([]byte, MaxBody), make([]byte, MaxBody)
	var b Block
	fatal.If(t, b.Add(e))
	over := len(b.raw) + len(encoded(t, e)) - MaxBlock
	e.Request.Body = e.Request.Body[over-1:]
	if err := b.Add(e); err == nil || b.Len() != 1 {
		t.Errorf("a byte beyond the bound: %v, %d entries", err, b.Len())
	}
	e.Request.Body = e.Request.Body[1:]
	if err := b.Add(e); err != nil || len(b.raw) != MaxBlock {
		t.Errorf("at the bound: %v, %d bytes", err, len(b.raw))
	}
	h, ok := ParseHeader(b.Seal(nil, 1))
	if !ok || h.Unpacked() != MaxBlock {
		t.Errorf("a full block says %d bytes, %v", h.Unpacked(), ok)
	}
}
