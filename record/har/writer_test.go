package har

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"whittle"
	"whittle/internal/http1"
	"whittle/record/capture"
)

func exported(t testing.TB, all ...*capture.Entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, e := range all {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func recorded() *capture.Entry {
	return &capture.Entry{
		Route: "POST /Count", Conn: 1, At: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC), Served: whittle.Candidate,
		Request: whittle.Request{
			Method: "POST", Target: "/Count?times=10&q=a%20b&x", Host: "shop.test:8080", Body: []byte(`{"a":"<é>"}`), Truncated: true,
			Header: whittle.Header{"Authorization": {"redacted-6f1c"}, "Content-Type": {"application/json"}, "X-Two": {"1", "2"}},
		},
		Response: whittle.Response{
			Status: 200, Latency: 3250 * time.Microsecond, Body: []byte("Counted to 5 \n"), Truncated: true,
			Header:  whittle.Header{"Content-Type": {"text/html; charset=utf-8"}, "Location": {"/x"}},
			Trailer: whittle.Header{"Grpc-Status": {"0"}},
		},
	}
}

func TestWhatIsExportedIsImported(t *testing.T) {
	binary := recorded()
	binary.Conn = 2
	binary.Request.Body, binary.Response.Body = []byte{0xff, 0, 1}, []byte{0xfe, 0}
	latin := recorded()
	latin.Conn = 0
	latin.Response.Header["Content-Type"] = []string{"text/plain; charset=iso-8859-1"}
	latin.Response.Body = []byte("\xc3\xa9") // Latin-1 that passes for UTF-8
	failed := recorded()
	failed.Response = whittle.Response{Failure: whittle.FailedTimeout, Detail: "after 10s", Latency: 10 * time.Second}
	bare := &capture.Entry{At: failed.At, Request: whittle.Request{Method: "GET", Target: "/", Host: "a"}, Response: whittle.Response{Failure: whittle.FailedReset}}
	packed := recorded()
	packed.Response.Header["Content-Encoding"] = []string{"br"}
	packed.Response.Truncated = false

	redacted := recorded()
	redacted.Request.Truncated = false
	redacted.Request.Header["Content-Length"] = []string{"1000"}

	want := []*capture.Entry{recorded(), binary, latin, failed, bare, packed, redacted}
	got, skipped, err := read(t, bytes.NewReader(exported(t, want...)))
	if err != nil || skipped != nil || len(got) != len(want) {
		t.Fatalf("%d entries, %v, %v", len(got), skipped, err)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("entry %d\n got %+v\nwant %+v", i+1, got[i], want[i])
		}
	}
}

// Every member that the form demands is there, also in an archive of nothing.
func TestTheFormIsWhole(t *testing.T) {
	var file struct {
		Log struct {
			Version string
			Creator struct{ Name, Version string }
			Entries []map[string]any
		}
	}
	if err := json.Unmarshal(exported(t), &file); err != nil || file.Log.Version != "1.2" || file.Log.Entries == nil || file.Log.Creator.Version == "" {
		t.Fatalf("empty: %+v, %v", file, err)
	}
	if err := json.Unmarshal(exported(t, recorded(), recorded()), &file); err != nil || len(file.Log.Entries) != 2 {
		t.Fatal(err)
	}
	e := file.Log.Entries[0]
	has := func(in any, names ...string) map[string]any {
		t.Helper()
		m, ok := in.(map[string]any)
		for _, n := range names {
			if m[n] == nil {
				ok = false
			}
		}
		if !ok {
			t.Errorf("%v lacks one of %v", in, names)
		}
		return m
	}
	has(e, "startedDateTime", "time", "request", "response", "cache", "timings")
	q := has(e["request"], "method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize", "postData")
	a := has(e["response"], "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize")
	has(q["postData"], "mimeType", "text")
	has(a["content"], "size", "mimeType", "text")
	has(e["timings"], "send", "wait", "receive")
	if q["url"] != "http://shop.test:8080/Count?times=10&q=a%20b&x" || e["startedDateTime"] != "2026-03-01T12:00:00.123456789Z" || e["time"] != 3.25 {
		t.Errorf("%v", e)
	}
	want := []any{map[string]any{"name": "times", "value": "10"}, map[string]any{"name": "q", "value": "a b"}, map[string]any{"name": "x", "value": ""}}
	if !reflect.DeepEqual(q["queryString"], want) {
		t.Errorf("query %v", q["queryString"])
	}
}

func TestABodyIsExportedWithoutItsCoding(t *testing.T) {
	plain := []byte(strings.Repeat("hello ", 100))
	pack := func(open func(io.Writer) (io.WriteCloser, error), body []byte) []byte {
		var out bytes.Buffer
		w, err := open(&out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	zip := func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
	for name, c := range map[string]struct {
		coding  string
		body    []byte
		cut     bool
		decoded bool
	}{
		"gzip":             {"gzip", pack(zip, plain), false, true},
		"deflate":          {"deflate", pack(func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil }, plain), false, true},
		"zstd":             {"Zstd", pack(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }, plain), false, true},
		"identity":         {"identity", plain, false, true},
		"cut":              {"gzip", pack(zip, plain)[:20], true, false},
		"not what it says": {"gzip", plain, false, false},
		"unknown":          {"br", plain, false, false},
		"a bomb":           {"gzip", pack(zip, make([]byte, capture.MaxBody+1)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := recorded()
			e.Response.Body, e.Response.Truncated = c.body, c.cut
			e.Response.Header["Content-Encoding"] = []string{c.coding}
			got, _, err := read(t, bytes.NewReader(exported(t, e)))
			if err != nil || len(got) != 1 {
				t.Fatal(err)
			}
			a := got[0].Response
			if c.decoded && (!bytes.Equal(a.Body, plain) || a.Header.Get("Content-Encoding") != "") {
				t.Errorf("%q with %v", a.Body, a.Header)
			}
			if !c.decoded && !reflect.DeepEqual(a, e.Response) {
				t.Errorf("%d bytes with %v", len(a.Body), a.Header)
			}
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestAnExportThatCannotBeWrittenFails(t *testing.T) {
	w := NewWriter(full{})
	e := recorded()
	e.Response.Body = bytes.Repeat([]byte("x"), 1<<20)
	if err := w.Write(e); err == nil {
		t.Error("written")
	}
	if err := NewWriter(full{}).Close(); err == nil {
		t.Error("closed")
	}
}

// Whatever an archive has, it is read to an end, and what comes of it has room
// in the log or is refused there by name.
func FuzzRead(f *testing.F) {
	f.Add([]byte(archive(one(`,"postData":{"text":"YQ==","encoding":"base64","params":[{"name":"a"}]}`, responseOK))))
	f.Add([]byte(archive(one(`,"headers":[{"name":":path","value":"/"},{"name":"A","value":"b\nc"}]`, `"response":{"status":-1,"_error":"x","content":{"text":null,"size":"3"}}`))))
	f.Add(exported(f, recorded()))
	f.Add([]byte(`{"log":{"entries":[1,"a",[],{},null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, skipped, _ := read(t, bytes.NewReader(b))
		if len(all)+len(skipped) > len(b) {
			t.Fatalf("%d entries of %d bytes", len(all)+len(skipped), len(b))
		}
		for _, e := range all {
			if !strings.HasPrefix(e.Request.Target, "/") || e.Request.Method == "" || e.Request.Host == "" && !bytes.Contains(bytes.ToLower(b), []byte("host")) && !bytes.Contains(b, []byte(`\u`)) {
				t.Fatalf("%+v", e)
			}
			if _, err := capture.AppendEntry(nil, e); err != nil && whittle.CodeOf(err) == whittle.Internal {
				t.Fatal(err)
			}
		}
	})
}

// What is exported is imported with its meaning, whatever is in it.
func FuzzRoundTrip(f *testing.F) {
	f.Add("POST", "/a?b=c", "h:1", "text/plain", []byte("body"), []byte{0xff}, 200, int64(1e9))
	f.Fuzz(func(t *testing.T, method, target, host, kind string, sent, received []byte, status int, at int64) {
		if !http1.IsToken(method) || method == "CONNECT" || status < 100 || status > 999 || status == 101 || len(sent)+len(received) > 1<<20 || at < 0 {
			return
		}
		target = "/" + escaped(strings.ReplaceAll(target, "#", ""))
		e := &capture.Entry{
			At: time.Unix(0, at).UTC(),
			Request: whittle.Request{
				Method: method, Target: target, Host: "h", Body: sent,
				Header: whittle.Header{"Content-Type": {kind}},
			},
			Response: whittle.Response{Status: status, Body: received, Header: whittle.Header{"Content-Type": {kind}}},
		}
		all, skipped, err := read(t, bytes.NewReader(exported(t, e)))
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", skipped, err)
		}
		got := all[0]
		if got.Request.Target != target || got.Request.Method != method || got.Response.Status != status || !got.At.Equal(e.At) ||
			!bytes.Equal(got.Request.Body, sent) || !bytes.Equal(got.Response.Body, received) {
			t.Fatalf("got %+v\nwant %+v", got, e)
		}
	})
}
