package capture

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whittle"
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

// TestBytesBeyondTheBoundsAreNoEntry: what no writer may write, no reader takes.
func TestBytesBeyondTheBoundsAreNoEntry(t *testing.T) {
	for name, change := range map[string]func(*Entry){
		"too late": func(e *Entry) { e.At = newest },
		"status":   func(e *Entry) { e.Response.Status = maxStatus + 1 },
		"route":    func(e *Entry) { e.Route = strings.Repeat("x", MaxText+1) },
		"values":   func(e *Entry) { e.Request.Header = whittle.Header{"X": slices.Repeat([]string{""}, MaxHeaders+1)} },
		"fields": func(e *Entry) {
			e.Request.Header = whittle.Header{"X": slices.Repeat([]string{""}, MaxHeaders), "Y": {"", ""}}
		},
		"header": func(e *Entry) {
			e.Request.Header = whittle.Header{"X": slices.Repeat([]string{strings.Repeat("x", MaxText)}, 17)}
		},
	} {
		e := full()
		change(e)
		fields := appendFields(nil, e)
		var d Decoder
		if _, err := d.Decode(appendText(nil, fields), e); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	fields := appendFields(nil, full())
	fields[0] = servedByCandidate << 1
	if _, err := new(Decoder).Decode(appendText(nil, fields), new(Entry)); err == nil {
		t.Error("a flag that nobody knows is taken")
	}
}

// TestHeadersAsBytes: a header takes as few bytes as it needs, and none with a name
// twice, out of order, or with more promised than there are bytes for.
func TestHeadersAsBytes(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want whittle.Header
		bad  bool
	}{
		{[]byte{0}, nil, false},
		{[]byte{1, 0, 0}, whittle.Header{"": {}}, false},
		{[]byte{1, 0, 3, 0, 0, 0}, whittle.Header{"": {"", "", ""}}, false},
		{[]byte{1, 0, 4, 0, 0, 0}, nil, true},
		{[]byte{2, 1, 'a', 0, 1, 'b', 0}, whittle.Header{"a": {}, "b": {}}, false},
		{[]byte{2, 1, 'b', 0, 1, 'a', 0}, nil, true},
		{[]byte{2, 1, 'a', 0, 1, 'a', 0}, nil, true},
		{[]byte{2, 0, 0}, nil, true},
	} {
		var d Decoder
		in := cursor{b: c.b}
		if got := d.header(&in); in.bad != c.bad || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, bad %v", c.b, got, in.bad)
		}
	}
	promise := append([]byte{100}, make([]byte, 150)...)
	var d Decoder
	if n := testing.AllocsPerRun(20, func() {
		in := cursor{b: promise}
		if d.header(&in); !in.bad {
			t.Fatal("taken")
		}
	}); n > 0 {
		t.Errorf("100 names in 150 bytes: %v allocations", n)
	}
}

// TestTheDecoderKeepsShortTexts: up to a length and up to a number, and then anew.
func TestTheDecoderKeepsShortTexts(t *testing.T) {
	var d Decoder
	d.text(nil)
	for i := range maxKept {
		text := fmt.Appendf(nil, "%0*d", maxKeptText, i)
		if d.text(text); len(d.kept) != i+1 {
			t.Fatalf("%d texts are kept of %d", len(d.kept), i+1)
		}
	}
	d.text(bytes.Repeat([]byte("x"), maxKeptText+1))
	if len(d.kept) != maxKept {
		t.Errorf("%d texts are kept", len(d.kept))
	}
	if d.text([]byte("one more")); len(d.kept) != 1 {
		t.Errorf("%d texts are kept after one more", len(d.kept))
	}
}

// TestABlockIsFullAtItsBound: one byte more is refused, in its entries and in its
// summary, and leaves the block as it was.
func TestABlockIsFullAtItsBound(t *testing.T) {
	e := full()
	e.Request.Body, e.Response.Body = make([]byte, MaxBody), make([]byte, MaxBody)
	var b Block
	if err := b.Add(e); err != nil {
		t.Fatal(err)
	}
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
	const most = 8<<20 - 2*MaxText
	for size, want := range map[int]bool{most: true, most + 1: false} {
		b = Block{summary: summary{size: size}}
		if err := b.Add(full()); (err == nil) != want || (b.Len() == 1) != want {
			t.Errorf("a summary of %d bytes: %v", size, err)
		}
	}
}

// TestASealedBlockFollowsWhatIsThere: the bytes of a block do not depend on those before
// it, and its size is that of entries and summary.
func TestASealedBlockFollowsWhatIsThere(t *testing.T) {
	var a, b Block
	for _, to := range []*Block{&a, &b} {
		if err := to.Add(full()); err != nil {
			t.Fatal(err)
		}
	}
	if want := len(encoded(t, full())); a.Size() < want+len(a.summary.append(nil)) || a.Size() > want+200 {
		t.Errorf("a size of %d for %d bytes", a.Size(), want)
	}
	alone, behind := a.Seal(nil, 9), b.Seal([]byte("before"), 9)
	if !bytes.Equal(append([]byte("before"), alone...), behind) {
		t.Error("a block depends on the bytes before it")
	}
	if _, ok := ParseHeader(alone[:HeaderLen]); !ok {
		t.Error("a header by itself is none")
	}
	if _, ok := ParseHeader(alone[:HeaderLen-1]); ok {
		t.Error("a part of a header is one")
	}
}

// TestBuffersOfLargeEntriesAreNotKept: neither by the writer nor by the reader; others
// are used again.
func TestBuffersOfLargeEntriesAreNotKept(t *testing.T) {
	for size, kept := range map[int]bool{100: true, roomy: true, roomy + 1: false} {
		b := Block{raw: make([]byte, 0, size)}
		if b.Drop(); (b.raw != nil) != kept {
			t.Errorf("a writer's buffer of %d is kept: %v", size, !kept)
		}
	}
	block := func(raw int) (Header, []byte) {
		e := full()
		e.Response.Body = nil
		e.Response.Body = make([]byte, raw-len(encoded(t, e))-8)
		for len(encoded(t, e)) < raw {
			e.Response.Body = append(e.Response.Body, 0)
		}
		var b Block
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		sealed := b.Seal(nil, 1)
		h, ok := ParseHeader(sealed)
		if !ok || h.raw != raw {
			t.Fatalf("%d bytes, not %d", h.raw, raw)
		}
		return h, sealed[HeaderLen:]
	}
	for _, c := range []struct {
		raw, room int
		kept      bool
	}{
		{1000, 1000, true},
		{1000, 999, false},
		{1000, roomy, true},
		{1000, roomy + 1, false},
		{roomy, roomy + 1, false},
		{roomy + 1, 2 * roomy, true},
		{roomy + 1, roomy, false},
	} {
		h, body := block(c.raw)
		r := BlockReader{raw: make([]byte, 0, c.room)}
		had := &r.raw[:1][0]
		if err := r.Reset(&h, body); err != nil {
			t.Fatal(err)
		}
		if kept := &r.raw[:1][0] == had; kept != c.kept || cap(r.raw) < c.raw {
			t.Errorf("%d bytes, a buffer of %d: kept %v, room for %d now", c.raw, c.room, kept, cap(r.raw))
		}
	}
}

// TestHeaderBounds: a header at each of its bounds is one, and one beyond is none.
func TestHeaderBounds(t *testing.T) {
	plain := Header{Count: 2, raw: 2, first: 5, last: 5}
	for name, c := range map[string]struct {
		change func(*Header)
		want   bool
	}{
		"plain":              {func(*Header) {}, true},
		"no entry":           {func(h *Header) { h.Count = 0 }, false},
		"too many entries":   {func(h *Header) { h.Count = 3 }, false},
		"largest":            {func(h *Header) { h.raw = MaxBlock }, true},
		"too large":          {func(h *Header) { h.raw = MaxBlock + 1 }, false},
		"largest summary":    {func(h *Header) { h.summary = maxSummary }, true},
		"too large summary":  {func(h *Header) { h.summary = maxSummary + 1 }, false},
		"largest payload":    {func(h *Header) { h.payload = MaxBlock + MaxBlock/64 }, true},
		"too large payload":  {func(h *Header) { h.payload = MaxBlock + MaxBlock/64 + 1 }, false},
		"first of all times": {func(h *Header) { h.first = 0 }, true},
		"before all times":   {func(h *Header) { h.first = -1 }, false},
		"last before first":  {func(h *Header) { h.last = 4 }, false},
		"last of all times":  {func(h *Header) { h.last = newest.UnixNano() - 1 }, true},
		"behind all times":   {func(h *Header) { h.last = newest.UnixNano() }, false},
	} {
		h := plain
		c.change(&h)
		b := make([]byte, HeaderLen)
		h.put(b)
		if _, ok := ParseHeader(b); ok != c.want {
			t.Errorf("%s: a header: %v", name, ok)
		}
	}
}

// TestTheSampleKeepsToItsRoom: kinds without room and bytes that are taken are refused
// without asking for the exchange, what just fits is chosen, and the choice is in the
// order in which its exchanges came.
func TestTheSampleKeepsToItsRoom(t *testing.T) {
	asked := 0
	see := func(s *Sample[string], target, kind string, size int) {
		s.See(keyOf(target), kind, size, func() (string, bool) { asked++; return target, true })
	}
	kinds := &Sample[string]{Room: 2, Bytes: 100}
	for i := range 5 {
		see(kinds, fmt.Sprint("/", i), fmt.Sprint(i), 10)
	}
	if got := kinds.Chosen(); !slices.Equal(got, []string{"/0", "/1"}) {
		t.Errorf("of five kinds, with room for two: %q", got)
	}
	fits := &Sample[string]{Room: 9, Bytes: 100}
	see(fits, "/a", "200", 40)
	see(fits, "/b", "200", 20)
	see(fits, "/c", "404", 40) // 100 in all
	if got := fits.Chosen(); !slices.Equal(got, []string{"/a", "/b", "/c"}) {
		t.Errorf("what just fits: %q", got)
	}
	fits = &Sample[string]{Room: 9, Bytes: 100}
	see(fits, "/a", "200", 40)
	see(fits, "/b", "200", 60)
	if got := fits.Chosen(); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("what just fits: %q", got)
	}
	full := &Sample[string]{Room: 9, Bytes: 100}
	see(full, "/a", "200", 100)
	asked = 0
	if see(full, "/b", "200", 1); asked > 0 {
		t.Error("an exchange without a byte of room is asked for")
	}
	targets := make([]string, 20)
	for i := range targets {
		targets[i] = fmt.Sprint("/", i)
	}
	hash := func(target string) uint64 {
		k := keyOf(target)
		return hashed(k[:], "200")
	}
	slices.SortFunc(targets, func(a, b string) int {
		if hash(a) < hash(b) {
			return -1
		}
		return 1
	})
	order := &Sample[string]{Room: 3, Bytes: 1 << 20}
	see(order, "/first", "200", 1)
	for _, target := range slices.Backward(targets[:5]) {
		see(order, target, "200", 1)
	}
	if got := order.Chosen(); !slices.Equal(got, []string{"/first", targets[1], targets[0]}) {
		t.Errorf("chosen %q of %q", got, targets[:5])
	}
	asked = 0
	for _, target := range targets[5:] {
		see(order, target, "200", 1)
	}
	if asked > 0 {
		t.Errorf("%d exchanges are asked for in vain", asked)
	}
}

// TestRowsOfPaths: a path has a row of its own as long as it and its method are short
// enough, and the summary's size is never below its bytes and does not grow with what
// is counted already.
func TestRowsOfPaths(t *testing.T) {
	var s summary
	add := func(route, method, path string, status int) {
		s.add(&Entry{Route: route, Request: whittle.Request{Method: method, Target: path}, Response: whittle.Response{Status: status}})
	}
	path := strings.Repeat("p", maxPath-len("GET"))
	add("r", "GET", path, 200)
	if s.rows[rowKey{"r", "GET", path}] == nil {
		t.Error("a path at the bound has no row")
	}
	add("r", "GET", path+"p", 200)
	if s.rows[rowKey{route: "r"}] == nil || len(s.rows) != 2 {
		t.Error("a path beyond the bound has a row")
	}
	for _, c := range [][3]string{{strings.Repeat("r", 500), "G", "/"}, {"r", strings.Repeat("M", 200), "/"}, {"r", "M", strings.Repeat("q", 200)}} {
		s.clear()
		for status := range 50 {
			add(c[0], c[1], c[2], 100+status)
			if got := len(s.append(nil)); got > s.size+2 || s.size > got+64+8*(status+1) {
				t.Fatalf("%d statuses: a size of %d for %d bytes", status+1, s.size, got)
			}
		}
		size := s.size
		for range 100 {
			add(c[0], c[1], c[2], 100)
		}
		if s.size != size {
			t.Errorf("100 more of the same: a size of %d after %d", s.size, size)
		}
	}
	sum := &Row{}
	sum.Add(&Row{Count: 2, Bytes: 3, Statuses: map[int]int64{200: 2}})
	sum.Add(&Row{Count: 1, Bytes: 4, Statuses: map[int]int64{200: 1}})
	if sum.Count != 3 || sum.Bytes != 7 || sum.Statuses[200] != 3 {
		t.Errorf("rows add up to %+v", sum)
	}
	promise := []byte{4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if n := testing.AllocsPerRun(20, func() {
		if rows, err := parseSummary(promise); err == nil {
			t.Fatal(rows)
		}
	}); n > 0 {
		t.Errorf("four rows in ten bytes: %v allocations", n)
	}
}

// TestLooksLikeID: which segments are ids, at the edges of the letters and of the
// lengths.
func TestLooksLikeID(t *testing.T) {
	for segment, want := range map[string]bool{
		"": false, "0": true, "9": true, "0123456789": true, "/0": false, ":9": false, "1.5": false,
		"deadbee": false, "deadbee1": true, "1abcde": false, "1abcdef": false, "12345678": true, "af-AF-09": true, "0000000a": true, "000000a": false, "000000-a": true,
		"`1234567": false, "@1234567": false, "{1234567": false, "[1234567": false,
		"ghijklmnopqrst12": true, "ghijklmnopqrst1": false, "ghijklmnopqrstu1": false, "GZgz_zZgG1234567": true, "GZgz_zZgG12345": false, "gz~z_zZgG1234567": false,
	} {
		if got := looksLikeID(segment); got != want {
			t.Errorf("%q is an id: %v", segment, got)
		}
	}
	if n := testing.AllocsPerRun(20, func() { PathShape("/users/list?x=1") }); n > 0 {
		t.Errorf("a path without ids: %v allocations", n)
	}
}
