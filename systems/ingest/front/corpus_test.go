package front

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"whittle/systems/ingest/dedup"
)

// sent is a request as it goes over the wire, and what has to become of it.
type sent struct {
	name, wire string
	code       int
	// kept is how many events of it are in the stream. Of one that is kept, value is
	// how its bytes begin.
	kept  int
	value string
	// reason is a part of what the response says of a request that was refused,
	// letter that its bytes are a dead letter: as they were sent, or those of unzipped.
	reason   string
	letter   bool
	unzipped string
	// ends says that the connection may close behind it, unfinished that the body
	// does not come in whole.
	ends, unfinished bool
}

// The content types of requests below.
const (
	asJSON  = "Content-Type: application/json"
	asText  = "Content-Type: text/plain;charset=UTF-8"
	asLines = "Content-Type: application/x-ndjson"
)

func posted(path, body string, lines ...string) string {
	head := append([]string{"POST " + path + " HTTP/1.1", "Host: events.example", fmt.Sprintf("Content-Length: %d", len(body))}, lines...)
	return strings.Join(head, "\r\n") + "\r\n\r\n" + body
}

func chunked(path, body, extension, trailer string, lines ...string) string {
	head := append([]string{"POST " + path + " HTTP/1.1", "Host: events.example", "Transfer-Encoding: chunked"}, lines...)
	return strings.Join(head, "\r\n") + "\r\n\r\n" + fmt.Sprintf("%x%s\r\n%s\r\n0\r\n%s\r\n", len(body), extension, body, trailer)
}

// The bodies of most of them.
const oneEvent = `{"anonymousId":"a","event":"e"}`

func withProperty(member string) string {
	return `{"properties":{` + member + `},"userId":"u","event":"e"}`
}

func typed(id string) string { return `{"type":"track","userId":"u","messageId":"` + id + `"}` }

// kept is an event that is in the stream, with more behind what it was sent as.
func kept(name, body string, lines ...string) sent {
	text := strings.TrimSpace(body)
	return sent{name: name, wire: posted("/v1/track", body, lines...), code: 200, kept: 1, value: text[:len(text)-1]}
}

// keptAs is a body that is in the stream as it was sent.
func keptAs(name, body string, lines ...string) sent {
	return sent{name: name, wire: posted("/import", body, lines...), code: 200, kept: 1, value: body}
}

// refused is a body that is a dead letter.
func refused(name, path, body, reason string, lines ...string) sent {
	if len(lines) == 0 {
		lines = []string{asJSON}
	}
	return sent{name: name, wire: posted(path, body, lines...), code: 400, reason: reason, letter: true}
}

// unread is a body that was refused without reading it.
func unread(code int, name, path, body, reason string, lines ...string) sent {
	return sent{name: name, wire: posted(path, body, lines...), code: code, reason: reason, ends: code == 413}
}

const notJSON, nobody = "the body is not JSON", "neither userId nor anonymousId"

// corpus is what clients send, well or badly: each event is kept as it is or refused
// with a reason.
func corpus() []sent {
	return slices.Concat(ofValues(), ofBatches(), ofVendors(), ofImports(), ofTypes(), ofFraming())
}

func ofValues() []sent {
	return []sent{
		kept("nothing odd", oneEvent),
		kept("spaces around", " \r\n"+oneEvent+"\n\n"),
		kept("a name twice in properties", withProperty(`"x":1,"x":2`)),
		kept("half a surrogate pair in a property", withProperty(`"x":"\ud800"`)),
		kept("NUL in a name", withProperty(`"x\u0000y":1`)),
		kept("an empty name", withProperty(`"":1`)),
		kept("__proto__", withProperty(`"__proto__":{"admin":true},"constructor":1`)),
		kept("a name of 20 KB", withProperty(`"`+strings.Repeat("n", 20<<10)+`":1`)),
		kept("100 deep", withProperty(`"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100))),
		kept("emoji, combining marks and right to left", withProperty(`"x":"👩‍👩‍👧 é`+"\u202eabc"+`"`)),
		kept("U+2028", withProperty(`"x":"`+"\u2028"+`"`)),
		kept("a user with NUL and line ends", `{"event":"e","userId":"u\u0000\r\nX-Admin: 1"}`),
		kept("userId null, anonymousId there", `{"event":"e","userId":null,"anonymousId":"a"}`),
		kept("half a surrogate pair as a user", `{"event":"e","userId":"\ud800"}`),
		refused("NaN", "/v1/track", withProperty(`"x":NaN`), "NaN at byte 19 is none of its values"),
		refused("an event a line", "/v1/track", oneEvent+"\n"+oneEvent+"\n", notJSON),
		refused("an array of events", "/v1/track", `[`+oneEvent+`]`, "not a JSON object"),
		refused("cut off", "/v1/track", oneEvent[:len(oneEvent)-1], "cut off"),
		refused("a byte order mark", "/v1/track", "\ufeff"+oneEvent, "byte order mark"),
		refused("a byte order mark before a batch", "/v1/batch", "\ufeff"+batchOf(typed("x2")), "byte order mark"),
		refused("UTF-16", "/v1/track", "\xff\xfe{\x00}\x00", "UTF-16"),
		refused("a depth bomb", "/v1/track", strings.Repeat("[", 30<<10), notJSON),
		refused("a depth bomb as a batch", "/v1/batch", `{"batch":[`+strings.Repeat(`{"a":[`, 50<<10), notJSON),
		refused("a depth bomb as an import", "/import", strings.Repeat(`{"a":`, 80<<10), notJSON),
		refused("another type than the path's", "/v1/track", `{"userId":"u","type":"page"}`, "in a call of track"),
		kept("an event as large as may be", oneEvent+strings.Repeat(" ", 32<<10-len(oneEvent))),
	}
}

func ofBatches() []sent {
	return []sent{
		{name: "PHP's empty context", wire: posted("/v1/batch", `{"context":[],"batch":[`+typed("b2")+`]}`, asJSON), code: 200, kept: 1, value: typed("b2")[:30]},
		{name: "a batch whose members come last", wire: posted("/v1/import",
			`{"batch":[`+typed("b3")+`],"sentAt":null,"context":{"a":1},"writeKey":"k"}`, asJSON), code: 200, kept: 1, value: typed("b3")[:30]},
		{name: "a beacon of RudderStack's", wire: posted("/beacon/v1/batch?writeKey=k", batchOf(typed("b5")), asText), code: 200, kept: 1, value: typed("b5")[:30]},
		{name: "good and bad together", wire: posted("/v1/batch", batchOf(`null`, `1`, `[]`, `{}`, typed("b4"),
			`{"type":"Track","userId":"u"}`, `{"type":"track","userId":"u","x":NaN}`), asJSON), code: 400, kept: 1, value: typed("b4")[:30], letter: true},
		refused("an empty batch", "/v1/batch", `{"batch":[]}`, "the batch is empty"),
		refused("an array at the batch's path", "/v1/batch", `[`+typed("x6")+`]`, "no array named batch"),
		refused("a batch cut off", "/v1/batch", `{"batch":[`+typed("x12")+`,{"type":`, "cut off"),
	}
}

func ofVendors() []sent {
	return []sent{
		unread(404, "PostHog's capture", "/capture/", `{"api_key":"k","event":"e","distinct_id":"u"}`, "no such endpoint", asJSON),
		unread(404, "Amplitude's", "/2/httpapi", `{"api_key":"k","events":[]}`, "no such endpoint", asJSON),
		unread(404, "Mixpanel's", "/track?ip=1", `data=eyJ9`, "no such endpoint", "Content-Type: application/x-www-form-urlencoded"),
		unread(404, "Snowplow's", "/com.snowplowanalytics.snowplow/tp2", `{"schema":"iglu:x","data":[]}`, "no such endpoint", asJSON),
		unread(404, "another case of letters", "/V1/Track", oneEvent, "no such endpoint", asJSON),
		unread(404, "two slashes", "//v1/track", oneEvent, "no such endpoint", asJSON),
		refused("PostHog's events", "/v1/batch", `{"api_key":"k","batch":[{"event":"e","distinct_id":"u","properties":{}}]}`, "no type"),
		refused("Amplitude's events", "/v1/batch", `{"api_key":"k","events":[{"user_id":"u","event_type":"e"}]}`, "no array named batch"),
		refused("Mixpanel's events", "/v1/track", `[{"event":"e","properties":{"distinct_id":"u"}}]`, "not a JSON object"),
		refused("Mixpanel's form", "/v1/track", `data=eyJldmVudCI6ImUifQ%3D%3D`, notJSON, "Content-Type: application/x-www-form-urlencoded"),
		refused("Snowplow's events", "/v1/track", `{"schema":"iglu:x","data":[{"e":"pv"}]}`, nobody),
		keptAs("Amplitude's events as they are", `{"api_key":"k","events":[{"user_id":"u"}]}`, asJSON),
		keptAs("what Vector, Fluent Bit and Logstash send together", `[{"message":"a"},{"message":"b"}]`, asJSON),
		keptAs("Fluent Bit's MessagePack", "\xdd\x00\x00\x00\x01\x81\xa1a\x01", "Content-Type: application/msgpack"),
		keptAs("Mixpanel's import as it is", `[{"event":"e","properties":{"distinct_id":"u","$insert_id":"i"}}]`, asJSON),
		keptAs("a protobuf of OpenTelemetry", "\x0a\x02\x08\x01", "Content-Type: application/x-protobuf"),
		unread(404, "OpenTelemetry's traces", "/v1/traces", `{"resourceSpans":[]}`, "no such endpoint", asJSON),
		unread(401, "Splunk's token", "/import", `{"event":"e"}`, "the credentials cannot be read", "Authorization: Splunk t"),
		unread(401, "Basic that is not base64", "/import", "x", "the credentials cannot be read", "Authorization: Basic !"),
		unread(401, "Basic without a colon", "/import", "x", "the credentials cannot be read", "Authorization: Basic a2V5"),
		unread(415, "snappy", "/import", "x", "not one of gzip, identity", "Content-Encoding: snappy"),
		keptAs("CloudEvents as they are", `[{"specversion":"1.0","id":"1"}]`, "Content-Type: application/cloudevents-batch+json"),
	}
}

func ofImports() []sent {
	return []sent{
		keptAs("lines of JSON", "{\"a\":1}\n{\"a\":2}\n", asLines),
		keptAs("lines with CRLF, a byte order mark and blank ones", "\ufeff{\"a\":1}\r\n\r\n{\"a\":2}\r\n", asLines),
		keptAs("text", "any \x00\xff thing", asText),
		keptAs("a byte order mark as text", "\ufeff"+oneEvent, asText),
		keptAs("a body that no type names", "x"),
		keptAs("a type that is none", "x", "Content-Type: ;;"),
		keptAs("gzip that nobody named", gzipOf(oneEvent), asText),
		keptAs("deep JSON as text", strings.Repeat("[", 100<<10), asText),
		keptAs("a form", "a=1&b=2", "Content-Type: application/x-www-form-urlencoded"),
		keptAs("multipart", "--b\r\n\r\nx\r\n--b--\r\n", "Content-Type: multipart/form-data; boundary=b"),
		keptAs("an id of 256 characters", "x", "Idempotency-Key: "+strings.Repeat("k", 256)),
		refused("lines of JSON as JSON", "/import", "{\"a\":1}\n{\"a\":2}\n", notJSON),
		refused("gzip that nobody named as JSON", "/import", gzipOf(oneEvent), "it is gzip"),
		refused("an id of 257 characters", "/import", "x", "Idempotency-Key", "Idempotency-Key: "+strings.Repeat("k", 257)),
		refused("two ids", "/import", "x", "Idempotency-Key", "Idempotency-Key: a", "Idempotency-Key: b"),
		refused("an empty id", "/import", "x", "Idempotency-Key", "Idempotency-Key: "),
		refused("an id with a space", "/import", "x", "Idempotency-Key", "Idempotency-Key: a b"),
		unread(400, "nothing", "/import", "", "the body is empty", asText),
		unread(413, "4 MiB", "/import", strings.Repeat("x", 4<<20), "larger than 512000", asText),
		unread(413, "a byte more than a batch may have", "/v1/batch", strings.Repeat(" ", 500<<10+1), "larger than 512000", asJSON),
		unread(413, "600 KB of one event", "/v1/track", withProperty(`"x":"`+strings.Repeat("x", 600<<10)+`"`), "larger than 512000", asJSON),
		{
			name: "a byte more than an event may have", code: 413, reason: "32768 are allowed", letter: true,
			wire: posted("/v1/track", withProperty(`"x":"`+strings.Repeat("x", 32<<10+1-len(withProperty(`"x":""`)))+`"`), asJSON),
		},
		{name: "an event of 40 KB", wire: posted("/v1/track", withProperty(`"x":"`+strings.Repeat("x", 40<<10)+`"`), asJSON), code: 413, reason: "32768 are allowed", letter: true},
	}
}

func ofTypes() []sent {
	coded := func(name, body, coding string) sent {
		s := kept(name, oneEvent)
		s.wire = posted("/v1/track", body, asJSON, "Content-Encoding: "+coding)
		return s
	}
	batched := func(name string, lines ...string) sent {
		return sent{name: name, wire: posted("/v1/batch", gzipOf(batchOf(typed(name))), lines...), code: 200, kept: 1, value: typed(name)[:30]}
	}
	mended := refused("gzip of what is no event", "/v1/track", gzipOf(`{"event":"e"}`), nobody, asJSON, "Content-Encoding: gzip")
	mended.unzipped = `{"event":"e"}`
	full := batchOf(typed("full"))
	full += strings.Repeat(" ", 500<<10-len(full))
	garbled := func(name, body, coding string) sent {
		return refused(name, "/v1/track", body, "not what its content encoding says", asJSON, "Content-Encoding: "+coding)
	}
	const notTaken = "content encoding is not one of"
	zipped := gzipOf(oneEvent)
	return []sent{
		kept("a beacon of text", oneEvent, asText),
		kept("a form in name", oneEvent, "Content-Type: application/x-www-form-urlencoded"),
		kept("no type", oneEvent),
		kept("bytes", oneEvent, "Content-Type: application/octet-stream"),
		mended,
		batched("what RudderStack's Node SDK sends", "Content-Type: application/x-www-form-urlencoded", "Content-Encoding: gzip"),
		batched("a zipped file", "Content-Type: application/gzip"),
		batched("a zipped file that says so twice", "Content-Type: application/x-gzip", "Content-Encoding: gzip"),
		kept("JSON in UTF-8 in quotes", oneEvent, `Content-Type: application/json; charset="UTF-8"`),
		kept("JSON in utf8", oneEvent, "Content-Type: application/json; charset=utf8"),
		kept("JSON in a charset without a name", oneEvent, "Content-Type: application/json; charset="),
		kept("JSON of a vendor", oneEvent, "Content-Type: application/vnd.api+json"),
		kept("upper case", oneEvent, "Content-Type: APPLICATION/JSON"),
		unread(415, "UTF-16 by name", "/v1/track", oneEvent, "UTF-8", "Content-Type: application/json; charset=utf-16"),
		unread(415, "a form in another charset", "/v1/track", oneEvent, "UTF-8", "Content-Type: application/x-www-form-urlencoded; charset=latin1"),
		unread(415, "Latin-1 by name", "/v1/track", oneEvent, "UTF-8", "Content-Type: application/json; charset=iso-8859-1"),
		unread(415, "a type that is no type", "/v1/track", oneEvent, "events are JSON", "Content-Type: json"),
		unread(415, "XML", "/v1/track", oneEvent, "events are JSON", "Content-Type: application/xml"),
		unread(415, "lines", "/v1/track", oneEvent, "events are JSON", asLines),
		unread(415, "multipart at an event's path", "/v1/track", oneEvent, "events are JSON", "Content-Type: multipart/form-data; boundary=b"),
		unread(415, "two types", "/v1/track", oneEvent, "events are JSON", asJSON, asText),
		coded("gzip", zipped, "gzip"),
		coded("GZip", zipped, " GZip "),
		coded("gzip in two members", gzipOf(oneEvent[:9])+gzipOf(oneEvent[9:]), "x-gzip"),
		coded("no coding", oneEvent, "identity"),
		coded("an empty coding", oneEvent, ""),
		garbled("gzip cut off", zipped[:len(zipped)-3], "gzip"),
		garbled("gzip with a wrong sum", zipped[:len(zipped)-8]+"\x00\x00\x00\x00"+zipped[len(zipped)-4:], "gzip"),
		garbled("gzip with more behind it", zipped+"more", "gzip"),
		garbled("gzip with zeros behind it", zipped+strings.Repeat("\x00", 16), "gzip"),
		garbled("plain as gzip", oneEvent, "gzip"),
		unread(415, "zlib", "/v1/track", zipped, notTaken, asJSON, "Content-Encoding: deflate"),
		unread(415, "zstd", "/v1/track", zipped, notTaken, asJSON, "Content-Encoding: zstd"),
		unread(415, "br", "/v1/track", "\x0b\x02\x80{}\x03", notTaken, asJSON, "Content-Encoding: br"),
		unread(415, "gzip twice", "/v1/track", gzipOf(zipped), notTaken, asJSON, "Content-Encoding: gzip, gzip"),
		unread(415, "two fields", "/v1/track", gzipOf(zipped), notTaken, asJSON, "Content-Encoding: gzip", "Content-Encoding: gzip"),
		unread(415, "a coding and none", "/v1/track", zipped, notTaken, asJSON, "Content-Encoding: gzip", "Content-Encoding: identity"),
		unread(415, "utf-8 as a coding", "/v1/track", oneEvent, notTaken, asJSON, "Content-Encoding: utf-8"),
		{name: "gzip of as much as may be", wire: posted("/v1/batch", gzipOf(full), asJSON, "Content-Encoding: gzip"), code: 200, kept: 1, value: typed("full")[:30]},
		{name: "gzip of a byte more", wire: posted("/v1/batch", gzipOf(full+" "), asJSON, "Content-Encoding: gzip"), code: 413, reason: "larger than", letter: true},
		{name: "a bomb of gzip", wire: posted("/v1/track", gzipOf(strings.Repeat(" ", 20<<20)), asJSON, "Content-Encoding: gzip"), code: 413, reason: "larger than", letter: true},
	}
}

func ofFraming() []sent {
	over := func(s sent, wire string) sent { s.wire = wire; return s }
	chunks := func(extension, trailer string, lines ...string) string {
		return chunked("/v1/track", oneEvent, extension, trailer, append(lines, asJSON)...)
	}
	head := func(version, path string, lines ...string) string {
		return "POST " + path + " HTTP/" + version + "\r\n" + strings.Join(append(lines, asJSON), "\r\n") + "\r\n\r\n"
	}
	length := fmt.Sprintf("Content-Length: %d", len(oneEvent))
	const host = "Host: events.example"
	closing := kept("Connection: close", oneEvent, "Connection: close")
	closing.ends = true
	old := over(kept("HTTP/1.0", oneEvent), head("1.0", "/v1/track", length)+oneEvent)
	old.ends = true
	wrong := func(name, wire string) sent { return sent{name: name, wire: wire, code: 400, ends: true} }
	broken := func(name, wire string) sent {
		return sent{name: name, wire: wire, code: 400, reason: "broke off", ends: true, unfinished: true}
	}
	get, put := unread(405, "GET", "/import", "", "by POST", asText), unread(405, "PUT", "/v1/track", oneEvent, "by POST", asJSON)
	get.wire, put.wire = strings.Replace(get.wire, "POST", "GET", 1), strings.Replace(put.wire, "POST", "PUT", 1)
	return []sent{
		get, put,
		over(kept("chunks", oneEvent), chunks("", "")),
		over(kept("chunks with an extension", oneEvent), chunks(";a=b", "")),
		over(kept("chunks with a trailer", oneEvent), chunks("", "X-Sum: 1\r\n", "Trailer: X-Sum")),
		over(kept("chunks with a trailer that was not announced", oneEvent), chunks("", "X-Sum: 1\r\n")),
		over(kept("an escaped path", oneEvent), posted("/v1/%74rack", oneEvent, asJSON)),
		over(kept("a slash behind it", oneEvent), posted("/v1/track/", oneEvent, asJSON)),
		over(kept("a whole URL", oneEvent), posted("http://events.example/v1/track", oneEvent, asJSON)),
		over(kept("Expect", oneEvent), posted("/v1/track", oneEvent, asJSON, "Expect: 100-continue")),
		closing, old,
		wrong("two lengths", head("1.1", "/v1/track", host, length, "Content-Length: 3")+oneEvent),
		wrong("a length and chunks", head("1.1", "/v1/track", host, length, "Transfer-Encoding: chunked")+"0\r\n\r\n"),
		wrong("a negative length", head("1.1", "/v1/track", host, "Content-Length: -1")+oneEvent),
		wrong("a length with a sign", head("1.1", "/v1/track", host, "Content-Length: +30")+oneEvent),
		wrong("no host", head("1.1", "/v1/track", length)+oneEvent),
		wrong("a chunk's length with 0x", strings.Replace(chunks("", ""), "\r\n\r\n", "\r\n\r\n0x", 1)),
		broken("a body cut off", head("1.1", "/v1/track", host, "Content-Length: 99")+oneEvent),
		broken("chunks cut off", strings.TrimSuffix(chunks("", ""), "0\r\n\r\n")),
		{name: "no length", wire: head("1.1", "/v1/track", host), code: 400, reason: "the body is empty"},
		{name: "HTTP/1.0 without a length", wire: head("1.0", "/v1/track") + oneEvent, code: 400, reason: "the body is empty", ends: true},
	}
}

// TestCorpus sends each request over a connection of its own with an event behind it,
// which has to come through as if it were alone wherever the connection goes on.
func TestCorpus(t *testing.T) {
	s, dead := serveDead(t, func(o *Options) { o.Seen = dedup.New(dedup.Options{}) })
	fates := map[string]int{}
	for n, c := range corpus() {
		before, lettersBefore := len(s.stream.records()), len(dead.records())
		id := fmt.Sprintf("behind%d", n)
		wire := c.wire
		if !c.unfinished {
			wire += posted("/v1/track", typed(id), asJSON)
		}
		all := s.responses(wire)
		if len(all) == 0 {
			t.Errorf("%s: no response", c.name)
			continue
		}
		a, records := all[0], s.stream.records()[before:]
		followed := len(all) == 2 && all[1].code == 200 && len(records) > 0 && records[len(records)-1].ID == id
		if followed {
			records = records[:len(records)-1]
		}
		if !followed && !c.ends || len(all) > 2 {
			t.Errorf("%s: what came behind it: %+v", c.name, all[1:])
		}
		if a.code != c.code || len(records) != c.kept || !strings.Contains(a.text, c.reason) || c.code == 400 && a.text == "" {
			t.Errorf("%s: %d, %d kept: %.300s", c.name, a.code, len(records), a.text)
		}
		for _, r := range records {
			if !strings.HasPrefix(string(r.Value), c.value) || !r.Intact() || !c.isRaw() && !json.Valid(r.Value) {
				t.Errorf("%s: kept is %.300q", c.name, r.Value)
			}
		}
		if c.reason != "" && (a.Success || a.Status != "rejected" && !c.unfinished || a.Reason == "" && len(a.Results) == 0 ||
			a.RequestID != a.header.Get("X-Request-Id")) {
			t.Errorf("%s: %s", c.name, a.text)
		}
		kept := letters(t, dead)[lettersBefore:]
		if got := len(kept) > 0; got != c.letter || !got && a.DeadLetter != "" || len(kept) > 1 && len(a.Results) == 0 {
			t.Errorf("%s: a dead letter: %v, %s", c.name, got, a.text)
		}
		for _, l := range kept {
			head, body, _ := strings.Cut(c.wire, "\r\n\r\n")
			coding := map[bool]string{true: "gzip"}[strings.Contains(head, "Content-Encoding: ") && c.unzipped == ""]
			if l.Whole && (string(l.Body) != cmp.Or(c.unzipped, body) || l.ContentEncoding != coding || l.Reason != a.Reason || a.DeadLetter == "") ||
				!l.Whole && len(a.Results) == 0 && !c.unfinished || !strings.Contains(head, l.Path) || l.Source != anySource || l.RequestID != a.RequestID || l.Address == "" || l.Time.IsZero() {
				t.Errorf("%s: %+v after %s", c.name, l, a.text)
			}
		}
		fates[map[bool]string{true: "kept", false: "refused with a reason"}[c.code == http.StatusOK]]++
	}
	t.Log(fates)
}

func (c *sent) isRaw() bool { return strings.HasPrefix(c.wire, "POST /import") }

// responses sends bytes and gives all final responses to them.
func (s *testFront) responses(wire string) (all []result) {
	s.Helper()
	in := bufio.NewReader(strings.NewReader(s.wire(wire)))
	for {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return all
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return all
		}
		if res.StatusCode >= http.StatusOK {
			a := result{code: res.StatusCode, header: res.Header, text: string(text)}
			_ = json.Unmarshal(text, &a) // a malformed request's response is none of the front's
			all = append(all, a)
		}
	}
}
