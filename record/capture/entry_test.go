package capture

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

func full() *Entry {
	return &Entry{
		Route: "POST /Count", Conn: 7, At: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC), Served: whittle.Candidate,
		Request: whittle.Request{
			Method: "POST", Target: "/Count?times=10", Host: "shop.test", Truncated: true, Body: []byte(`{"a":1}`),
			Header: whittle.Header{"Accept": {"*/*"}, "X-Many": {"1", "", "3"}, "B": {}},
		},
		Response: whittle.Response{
			Status: 200, Header: whittle.Header{"Content-Type": {"text/plain"}}, Trailer: whittle.Header{"Grpc-Status": {"0"}},
			Body: []byte("Counted to 5 \n"), Truncated: true, Latency: 3 * time.Millisecond,
			Failure: whittle.FailedReset, Detail: "it broke",
		},
	}
}

func encoded(t testing.TB, e *Entry) []byte {
	t.Helper()
	b, err := AppendEntry(nil, e)
	fatal.If(t, err)
	return b
}

func TestAnEntryBeyondTheBoundsIsRefusedByName(t *testing.T) {
	many := whittle.Header{}
	for i := range MaxHeaders + 1 {
		many[fmt.Sprint(i)] = []string{""}
	}
	wide := whittle.Header{"X": nil}
	for range 20 {
		wide["X"] = append(wide["X"], strings.Repeat("x", MaxText))
	}
	for name, c := range map[string]struct {
		change func(*Entry)
		says   string
		code   whittle.Code
	}{
		"body":         {func(e *Entry) { e.Response.Body = make([]byte, MaxBody+1) }, "a body has 16777217 bytes", whittle.ResourceExhausted},
		"request body": {func(e *Entry) { e.Request.Body = make([]byte, MaxBody+1) }, "a body has", whittle.ResourceExhausted},
		"target":       {func(e *Entry) { e.Request.Target = strings.Repeat("/", MaxText+1) }, "target has 65537 bytes", whittle.ResourceExhausted},
		"fields":       {func(e *Entry) { e.Response.Trailer = many }, "a header has 257 fields", whittle.ResourceExhausted},
		"value":        {func(e *Entry) { e.Request.Header["A"] = []string{strings.Repeat("x", MaxText+1)} }, `header "A" has 65537 bytes`, whittle.ResourceExhausted},
		"header":       {func(e *Entry) { e.Request.Header = wide }, "a header has 1310721 bytes", whittle.ResourceExhausted},
		"no time":      {func(e *Entry) { e.At = time.Time{} }, "its time 0001-01-01", whittle.Invalid},
		"status":       {func(e *Entry) { e.Response.Status = 1000 }, "status 1000", whittle.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			e := full()
			c.change(e)
			b, err := AppendEntry([]byte("before"), e)
			if err == nil || !strings.Contains(err.Error(), c.says) || whittle.CodeOf(err) != c.code || !errors.Is(err, ErrEntry) {
				t.Errorf("error %v", err)
			}
			fatal.Same(t, string(b), "before", "what was written")
		})
	}
}

// A few bytes that promise much must not be believed.
func TestAPromiseCostsNoMemory(t *testing.T) {
	fields := appendFields(nil, &Entry{At: time.Unix(0, 0)})
	lying := bytes.Replace(fields, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0, 0, 0xff, 1}, 1) // 255 names
	b := append([]byte{byte(len(lying))}, lying...)
	var d Decoder
	var e Entry
	if got := testing.AllocsPerRun(10, func() {
		if _, err := d.Decode(b, &e); err == nil {
			t.Fatal("decoded")
		}
	}); got > 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestTheDecodersTextsAreBounded(t *testing.T) {
	var d Decoder
	for i := range 3 * maxKept {
		d.text(fmt.Appendf(nil, "text %d", i))
	}
	if len(d.kept) > maxKept {
		t.Errorf("%d texts are kept", len(d.kept))
	}
	d = Decoder{}
	d.text(bytes.Repeat([]byte("x"), maxKeptText+1))
	if len(d.kept) > 0 {
		t.Error("a long text is kept")
	}
}

func TestACloneSharesNothing(t *testing.T) {
	e := full()
	c := e.Clone()
	e.Request.Body[0], e.Response.Body[0] = '!', '!'
	e.Request.Header["X-Many"][0] = "!"
	e.Response.Header["New"] = []string{"!"}
	e.Response.Trailer["Grpc-Status"][0] = "!"
	fatal.Same(t, c, full(), "changed")
}

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
	if err := b.Add(e); err == nil || whittle.CodeOf(err) != whittle.ResourceExhausted || b.Len() != 1 {
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
