package har

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/whittletest"
)

// read gives the exchanges of an archive, what was skipped, and how it ended.
func read(t testing.TB, r io.Reader) (all []*capture.Entry, skipped []string, end error) {
	t.Helper()
	in := NewReader(r)
	for {
		e, err := in.Next()
		var s *Skipped
		switch {
		case errors.As(err, &s):
			skipped = append(skipped, s.Error())
		case errors.Is(err, io.EOF):
			return all, skipped, nil
		case err != nil:
			if _, again := in.Next(); !errors.Is(again, err) {
				t.Errorf("after %v: %v", err, again)
			}
			return all, skipped, err
		default:
			all = append(all, e)
		}
	}
}

// archive makes an archive of entries' JSON.
func archive(entries ...string) string {
	return `{"log":{"version":"1.2","pages":[{"id":"page_1","title":"a } ] \" title"}],"entries":[` + strings.Join(entries, ",\n") + `],"comment":""}}`
}

const responseOK = `"response":{"status":200,"headers":[],"content":{"size":2,"mimeType":"text/plain","text":"ok"}}`

// one makes an entry with members of its own.
func one(request, rest string) string {
	return `{"startedDateTime":"2026-03-01T12:00:00.250Z","time":12.5,"request":{"method":"GET","url":"http://shop.test/a"` + request + `},` + rest + `}`
}

func single(t *testing.T, entry string) *capture.Entry {
	t.Helper()
	all, skipped, err := read(t, strings.NewReader(archive(entry)))
	if len(all) != 1 || skipped != nil || err != nil {
		t.Fatalf("%d entries, %v, %v", len(all), skipped, err)
	}
	return all[0]
}

func TestWhatChromeSaves(t *testing.T) {
	got := single(t, `{
	  "_connectionId": "51", "_initiator": {"type": "script", "stack": {"callFrames": [{"url": "x"}]}}, "_priority": "High", "_resourceType": "fetch",
	  "cache": {}, "connection": "51", "pageref": "page_1",
	  "request": {
	    "method": "POST", "url": "https://user:secret@shop.test/Count?times=10#top", "httpVersion": "h2",
	    "headers": [
	      {"name": ":authority", "value": "shop.test"}, {"name": ":method", "value": "POST"}, {"name": ":path", "value": "/Count?times=10"},
	      {"name": "content-type", "value": "application/json"}, {"name": "cookie", "value": "a=1"}, {"name": "cookie", "value": "b=2"}],
	    "queryString": [{"name": "times", "value": "10"}], "cookies": [{"name": "a", "value": "1", "expires": null}],
	    "headersSize": -1, "bodySize": 7, "postData": {"mimeType": "application/json", "text": "{\"a\":1}"}},
	  "response": {
	    "status": 200, "statusText": "", "httpVersion": "h2",
	    "headers": [
	      {"name": ":status", "value": "200"}, {"name": "content-encoding", "value": "br"}, {"name": "content-length", "value": "12"},
	      {"name": "content-type", "value": "text/html; charset=utf-8"}, {"name": "set-cookie", "value": "a=1; Path=/\nb=2"}],
	    "cookies": [], "content": {"size": 14, "mimeType": "text/html", "text": "Counted to é\n"}, "redirectURL": "", "headersSize": -1, "bodySize": -1,
	    "_transferSize": 120, "_error": null, "_fetchedViaServiceWorker": false},
	  "serverIPAddress": "127.0.0.1", "startedDateTime": "2026-03-01T13:00:00.250+01:00", "time": 31.5,
	  "timings": {"blocked": 5.5, "dns": -1, "ssl": -1, "connect": -1, "send": 1, "wait": 20, "receive": 5, "_blocked_queueing": 2}}`)
	want := &capture.Entry{
		Conn: 1, At: time.Date(2026, 3, 1, 12, 0, 0, 250e6, time.UTC),
		Request: whittle.Request{
			Method: "POST", Target: "/Count?times=10", Host: "shop.test", Body: []byte(`{"a":1}`),
			Header: whittle.Header{"Content-Type": {"application/json"}, "Cookie": {"a=1; b=2"}},
		},
		Response: whittle.Response{
			Status: 200, Latency: 26 * time.Millisecond, Body: []byte("Counted to é\n"),
			Header: whittle.Header{"Content-Type": {"text/html; charset=utf-8"}, "Set-Cookie": {"a=1; Path=/", "b=2"}},
		},
	}
	fatal.Same(t, got, want, "")
}

func TestWhatOthersSave(t *testing.T) {
	for name, c := range map[string]struct {
		entry string
		holds func(*capture.Entry) bool
	}{
		"Firefox: the port is no connection": {one("", `"connection":"80",`+responseOK), func(e *capture.Entry) bool { return e.Conn == 0 }},
		"Firefox: a picture": {
			one("", `"response":{"status":200,"headers":[{"name":"Content-Type","value":"image/png"}],"content":{"mimeType":"image/png","size":3,"encoding":"base64","text":"/+7d"}}`),
			func(e *capture.Entry) bool { return string(e.Response.Body) == "\xff\xee\xdd" },
		},
		"Internet Explorer: a single one of a list": {
			one(`,"headers":{"name":"Accept","value":"*/*"},"cookies":{"name":"a","value":"b"}`, responseOK),
			func(e *capture.Entry) bool { return e.Request.Header.Get("Accept") == "*/*" },
		},
		"mitmproxy: no timings, times as numbers, base64 in lines": {
			`{"startedDateTime":"2026-03-01T12:00:00+00:00","time":250,"request":{"method":"GET","url":"http://shop.test/"},` +
				`"response":{"status":204,"content":{"encoding":"base64","text":"aGVs\r\nbG8="}},"timings":{"send":0,"wait":-1,"receive":-1}}`,
			func(e *capture.Entry) bool {
				return e.Response.Latency == 250*time.Millisecond && string(e.Response.Body) == "hello" && e.Request.Header == nil
			},
		},
		"Charles: a form by its fields": {
			one(`,"headers":null,"bodySize":9,"postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"a b","value":"1&2"},{"name":"c"}]}`, responseOK),
			func(e *capture.Entry) bool {
				return string(e.Request.Body) == "a+b=1%262&c=" && !e.Request.Truncated
			},
		},
		"Charles: a form by its fields, which was longer by its escapes": {
			one(`,"bodySize":15,"postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"a","value":"b c"}]}`, responseOK),
			func(e *capture.Entry) bool { return string(e.Request.Body) == "a=b+c" && !e.Request.Truncated },
		},
		"an upload by its fields": {
			one(`,"postData":{"mimeType":"multipart/form-data; boundary=x","params":[{"name":"f","fileName":"a.png"}]}`, responseOK),
			func(e *capture.Entry) bool { return e.Request.Body == nil && e.Request.Truncated },
		},
		"mitmproxy: a character for each byte": {
			one(`,"bodySize":3,"postData":{"mimeType":"application/octet-stream","text":"\u00ff\u0000\u0001"}`, responseOK),
			func(e *capture.Entry) bool { return string(e.Request.Body) == "\xff\x00\x01" && !e.Request.Truncated },
		},
		"text is no bytes": {
			one(`,"bodySize":1,"postData":{"mimeType":"text/plain","text":"é"}`, responseOK),
			func(e *capture.Entry) bool { return string(e.Request.Body) == "é" },
		},
		"Playwright: no response": {
			one("", `"response":{"status":-1,"_failureText":"net::ERR_EMPTY_RESPONSE"}`),
			func(e *capture.Entry) bool {
				return e.Response.Failure == whittle.FailedReset && e.Response.Status == 0
			},
		},
		"a shorter body than sent":   {one(`,"bodySize":12,"postData":{"text":"abc"}`, responseOK), func(e *capture.Entry) bool { return e.Request.Truncated }},
		"sizes that are not known":   {one(`,"bodySize":-1,"headersSize":-1,"postData":{"text":"abc"}`, responseOK), func(e *capture.Entry) bool { return !e.Request.Truncated }},
		"the beginning of a content": {one("", `"response":{"status":200,"content":{"size":5000,"text":"the beginning"}}`), func(e *capture.Entry) bool { return e.Response.Truncated }},
		"the beginning in base64":    {one("", `"response":{"status":200,"content":{"size":4,"encoding":"base64","text":"aGVs"}}`), func(e *capture.Entry) bool { return e.Response.Truncated }},
		"UTF-16 as text":             {one("", `"response":{"status":200,"content":{"size":8,"text":"four"}}`), func(e *capture.Entry) bool { return !e.Response.Truncated }},
		"content of no length":       {one("", `"response":{"status":200,"content":{"size":0,"text":""}}`), func(e *capture.Entry) bool { return !e.Response.Truncated && e.Response.Body == nil }},
		"a response that broke off": {one("", `"response":{"status":200,`+
			`"_error":"net::ERR_INCOMPLETE_CHUNKED_ENCODING","content":{"text":"half"}}`), func(e *capture.Entry) bool {
			return e.Response.Truncated && e.Response.Status == 200
		}},
		"no response": {one("", `"timings":null`), func(e *capture.Entry) bool { return e.Response.Failure == whittle.FailedCanceled }},
		"an aborted request": {one("", `"response":{"status":0,"_error":"net::ERR_ABORTED","content":{}}`), func(e *capture.Entry) bool {
			return e.Response.Failure == whittle.FailedCanceled && e.Response.Detail == "net::ERR_ABORTED"
		}},
		"nobody there":         {one("", `"response":{"status":0,"_error":"net::ERR_CONNECTION_REFUSED"}`), func(e *capture.Entry) bool { return e.Response.Failure == whittle.FailedConnect }},
		"a status as a string": {one("", `"response":{"status":"404","content":{"text":null}}`), func(e *capture.Entry) bool { return e.Response.Status == 404 }},
		"Latin-1 as text": {
			one("", `"response":{"status":200,"content":{"mimeType":"text/plain; charset=ISO-8859-1","text":"é"}}`),
			func(e *capture.Entry) bool {
				return string(e.Response.Body) == "\xe9" && e.Response.Header.Get("Content-Type") == "text/plain; charset=ISO-8859-1"
			},
		},
		"a time without a zone": {strings.Replace(one("", responseOK), ".250Z", "", 1), func(e *capture.Entry) bool {
			return e.At.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		}},
		"a URL without a path": {strings.Replace(one("", responseOK), "/a\"", "?q=a b\"", 1), func(e *capture.Entry) bool { return e.Request.Target == "/?q=a%20b" }},
		"the host that the header has": {one(`,"headers":[{"name":"host","value":"other:81"}]`, responseOK), func(e *capture.Entry) bool {
			return e.Request.Host == "other:81" && len(e.Request.Header) == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if e := single(t, c.entry); !c.holds(e) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestABodyThatIsNotThereIsNotEmpty: an entry that has a body's length and no text
// of it is left out, and said, whoever wrote it; one whose body is empty, or none by
// its method or status, is not.
func TestABodyThatIsNotThereIsNotEmpty(t *testing.T) {
	const length = `"headers":[{"name":"Content-Length","value":"193"}]`
	missing := func(part string, length int) string {
		return fmt.Sprintf("%s: body missing: the archive gives its length, %d bytes, and no text", part, length)
	}
	const notRead = `which is not read; record with the bodies in the archive (Playwright: content: "embed")`
	for name, c := range map[string]struct{ entry, says string }{
		"Playwright: an upload by its length alone": {one(`,"bodySize":0,`+length, responseOK), missing("request.postData", 193)},
		"Playwright: a response's body in a file": {one("", `"response":{"status":200,"content":`+
			`{"size":-1,"mimeType":"text/html","_file":"a1.html"}}`), `response.content: the body is in a file of its own, "a1.html", ` + notRead},
		"Playwright: a request's body in a file": {one(`,"bodySize":-1,`+
			`"postData":{"mimeType":"application/json","_file":"b2.json"}`, responseOK), `request.postData: the body is in a file of its own, "b2.json", ` + notRead},
		"a request's body that was not saved": {one(`,"bodySize":12`, responseOK), missing("request.postData", 12)},
		"a request's text that is empty": {one(`,"bodySize":12,`+
			`"postData":{"mimeType":"application/json","text":""}`, responseOK), missing("request.postData", 12)},
		"Chrome: content that was evicted": {one("", `"response":{"status":200,`+
			`"content":{"size":12,"mimeType":"application/json"}}`), missing("response.content", 12)},
		"Chrome: the body of a redirect": {one("", `"response":{"status":302,`+length+`,`+
			`"content":{"size":0,"mimeType":"x-unknown"},"bodySize":-1}`), missing("response.content", 193)},
		"Firefox: a text that is empty": {one("", `"response":{"status":200,"content":{"size":12,"text":""}}`), missing("response.content", 12)},
		"Charles: the size on the wire alone": {one("",
			`"response":{"status":200,"bodySize":77,"content":{"size":0,"mimeType":"text/html"}}`), missing("response.content", 77)},
		"a packed body of which only the length is": {one("", `"response":{"status":200,"headers":[{"name":"Content-Encoding","value":"gzip"}],`+
			`"bodySize":77,"content":{"size":0,"text":""}}`), missing("response.content", 77)},
		"nothing, packed":  {one("", `"response":{"status":200,"headers":[{"name":"Content-Encoding","value":"gzip"}],"bodySize":20,"content":{"size":0,"text":""}}`), ""},
		"nothing":          {one("", `"response":{"status":200,"headers":[{"name":"Content-Length","value":"0"}],"bodySize":0,"content":{"size":0,"text":""}}`), ""},
		"nothing is known": {one("", `"response":{"status":200,"bodySize":-1,"content":{"size":-1}}`), ""},
		"304 tells the length of what is not sent": {one("", `"response":{"status":304,`+length+`,"content":{"size":0}}`), ""},
		"HEAD does too": {strings.Replace(one("", `"response":{"status":200,`+length+`,"content":{"size":0}}`), `"GET"`, `"HEAD"`, 1), ""},
		"a response that broke off is known to be part": {one("", `"response":{"status":200,"_error":"net::ERR_ABORTED",`+length+`,"content":{"size":0}}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			all, skipped, err := read(t, strings.NewReader(archive(c.entry)))
			if err != nil || len(all)+len(skipped) != 1 || (c.says == "") != (len(all) == 1) || c.says != "" && skipped[0] != "entry 1: "+c.says {
				t.Errorf("%d entries, %q, %v; want %q", len(all), skipped, err, c.says)
			}
			if len(all) == 1 && len(all[0].Response.Body) > 0 {
				t.Errorf("%+v", all[0])
			}
		})
	}
}

func TestWhatIsNoExchangeIsSkippedByNumber(t *testing.T) {
	started := `"startedDateTime":"2026-03-01T12:00:00.250Z"`
	text := "\xef\xbb\xbf" + archive(
		one("", `"_fromCache":"disk",`+responseOK),
		one("", responseOK),
		one("", `"_resourceType":"websocket",`+responseOK),
		`{`+started+`,"request":{"method":"GET","url":"data:text/plain,hello"},`+responseOK+`}`,
		`{`+started+`,"request":{"method":"CONNECT","url":"https://shop.test:443"},`+responseOK+`}`,
		`{`+started+`,"request":{"method":"GET","url":"/only/a/path"},`+responseOK+`}`,
		`{"startedDateTime":"yesterday","request":{"method":"GET","url":"http://a/"},`+responseOK+`}`,
		`{`+started+`,"request":{"url":"http://a/"},`+responseOK+`}`,
		`{`+started+`,"request":{"method":"get","url":"http://a/"},`+responseOK+`}`,
		one("", `"response":{"status":200,"content":{"encoding":"base64","text":"!"}}`),
		one("", `"response":{"status":200,"headers":{"A":"b"}}`),
		`"not an object"`,
		one("", responseOK),
	)
	all, skipped, err := read(t, strings.NewReader(text))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	for i, want := range []string{
		"entry 1: the response came from the browser's cache",
		"entry 3: it became another protocol, such as WebSocket",
		"entry 4: request.url: the scheme data: is no request to a server",
		"entry 5: it opened a tunnel",
		`entry 6: request.url: "/only/a/path" is no URL`,
		`entry 7: startedDateTime is "yesterday"`,
		`entry 8: request.method is ""`,
		`entry 9: request.method is "get": methods are in upper case, and servers refuse it`,
		"entry 10: response.content: it is not base64, as its encoding says",
		"entry 11: response.headers is no JSON array",
		"entry 12: it is no JSON object",
	} {
		if i >= len(skipped) || skipped[i] != want {
			t.Errorf("got  %q\nwant %q", skipped[min(i, len(skipped)-1)], want)
		}
	}
}

func TestSitesAreNamed(t *testing.T) {
	at := func(host string) string { return strings.Replace(one("", responseOK), "shop.test", host, 1) }
	r := NewReader(strings.NewReader(archive(at("a.shop.test"), at("Shop.test.:80"), at("pay.test"))))
	for range 3 {
		fatal.Same(t, r.Sites(), "", "sites")
		_, err := r.Next()
		fatal.If(t, err)
	}
	fatal.Same(t, r.Sites(), "the requests went to shop.test, pay.test: take out those that the monolith does not serve", "sites")
}

func TestWhatIsNoArchiveIsSaid(t *testing.T) {
	whole := archive(one("", responseOK), one("", responseOK))
	for text, says := range map[string]string{
		"":                                      "the file ends before the first entry, at byte 0",
		"{}":                                    "before the first entry, at byte 2: it has no log.entries",
		`{"log":{"entries":{}}}`:                "at entry 1, at byte 19: it is not JSON as a HAR has it",
		`{"log":[]}`:                            "it is not JSON as a HAR has it",
		"\x1f\x8b\x08\x00":                      "before the first entry, at byte 0: it is compressed: gunzip it first",
		"PK\x03\x04":                            "it is a zip file",
		"<html>":                                "before the first entry, at byte 0: it is not JSON",
		`{"log":{"entries":[}}`:                 "it is not JSON",
		whole[:strings.Index(whole, "},\n")+40]: "the file ends at entry 2",
		archive(one("", responseOK) + " x"):     "at entry 2",
	} {
		_, _, err := read(t, strings.NewReader(text))
		whittletest.Refused(t, err, whittle.Invalid, text, says)
	}
	all, _, err := read(t, strings.NewReader(whole[:len(whole)-30]))
	if len(all) != 1 || err == nil {
		t.Errorf("cut off: %d entries, %v", len(all), err)
	}
	if all, _, err := read(t, strings.NewReader(archive())); len(all) != 0 || err != nil {
		t.Errorf("empty: %d entries, %v", len(all), err)
	}
}

func TestNothingAfterTheEntriesIsNeeded(t *testing.T) {
	all, _, err := read(t, strings.NewReader(`{"comment":["a",{"b":"]"}], "log" : { "version":1.2, "entries" : [ `+one("", responseOK)+` ] `))
	if len(all) != 1 || err != nil {
		t.Errorf("%d entries, %v", len(all), err)
	}
}

// A long archive takes the memory of one entry. One beyond the bound ends the reading,
// and takes no more than the bound.
func TestALongArchiveTakesFlatMemory(t *testing.T) {
	const small = 10_000
	filler := strings.Repeat("x", 1<<20)
	in, out := io.Pipe()
	defer in.Close() // which ends the writing
	go func() {
		_, err := io.WriteString(out, `{"log":{"entries":[`+one("", responseOK))
		for i := 1; i < small && err == nil; i++ {
			_, err = io.WriteString(out, ","+one(fmt.Sprintf(`,"headers":[{"name":"X-N","value":"%d"}]`, i), responseOK))
		}
		for text := `,{"giant":"`; err == nil; text = filler {
			_, err = io.WriteString(out, text)
		}
	}()
	r := NewReader(in)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for got := range small {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if got%5000 == 4999 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc+8<<20 {
				t.Fatalf("%d MiB more after %d entries", (now.HeapAlloc-before.HeapAlloc)>>20, got)
			}
		}
	}
	if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), "at entry 10001, at byte ") || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("an entry beyond the bound: %v", err)
	}
	runtime.ReadMemStats(&now)
	if now.TotalAlloc-before.TotalAlloc > 3<<30 || now.Sys > before.Sys+5*maxEntry {
		t.Errorf("%d MiB were taken of the system", (now.Sys-before.Sys)>>20)
	}
}
