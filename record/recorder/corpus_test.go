package recorder

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"whittle"
	"whittle/carve/gateway"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/redact"
)

// plant is one place in which a secret may stand.
type plant struct {
	name string
	// put makes a request, and the response that is to be given to it, with the
	// secret in it.
	put func(secret string, r *sent)
	// shape is "" for a place that is secret by its name, byItsShape for one
	// where only a secret of a known shape is found.
	shape string
}

// sent is a request and its response.
type sent struct {
	method, target string
	header         http.Header
	body           []byte
	status         int
	response       http.Header
	content        []byte
}

func (s *sent) both(kind, body string) {
	s.method = http.MethodPost
	s.header.Set("Content-Type", kind)
	s.response.Set("Content-Type", kind)
	s.body, s.content = []byte(body), []byte(body)
}

func packed(s *sent, coding string, w func(io.Writer) io.WriteCloser) {
	for _, b := range []*[]byte{&s.body, &s.content} {
		var out bytes.Buffer
		to := w(&out)
		_, _ = to.Write(*b)
		_ = to.Close()
		*b = out.Bytes()
	}
	s.header.Set("Content-Encoding", coding)
	s.response.Set("Content-Encoding", coding)
}

const byItsShape = "any" // the secret is an e-mail address, a card number or a JWT

// plants are the places, one of each way that something is carried. %s stands for the secret.
// The names, the forms of a text and the rules are held by redact's tests.
func plants() (list []plant) {
	add := func(name, shape string, put func(string, *sent)) { list = append(list, plant{name, put, shape}) }
	add("header", "", func(s string, r *sent) { r.header.Set("X-Api-Key", s); r.response.Set("X-Api-Key", s) })
	add("shape in header", byItsShape, func(s string, r *sent) { r.header.Set("X-Note", "for "+s+"."); r.response.Set("X-Note", s) })
	add("Basic", "", func(s string, r *sent) {
		r.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("bob:"+s)))
	})
	add("cookie", "", func(s string, r *sent) {
		r.header.Set("Cookie", "theme=dark; x="+s+"; y=\""+s+"\"")
		r.response.Add("Set-Cookie", "a=b; Path=/")
		r.response.Add("Set-Cookie", "sid="+s+"; Path=/; HttpOnly")
	})
	add("Location", "", func(s string, r *sent) {
		r.status = http.StatusFound
		r.response.Set("Location", "/cb?id_token="+url.QueryEscape(s)+"&state=1")
	})
	add("query", "", func(s string, r *sent) { r.target = "/x?a=b&p%61ssword=" + url.QueryEscape(s) + "&c=d" })
	add("shape in path", byItsShape, func(s string, r *sent) { r.target = "/u/" + url.PathEscape(s) + "/x" })
	add("form", "", func(s string, r *sent) {
		r.both("application/x-www-form-urlencoded", "a=b&user[password]="+url.QueryEscape(s)+"&c=d")
	})
	for kind, f := range map[string]string{
		"application/json":                  `{"a":{"note":"write to %s, please"},"l":["%s"]}`,
		"application/vnd.x+json":            `["x\/%s\u0020"]`,
		"application/json; charset=utf-8":   "\ufeff{\"%s\":1}",
		"application/x-ndjson":              "{\"a\":\"%s\"}\n{\"b\":\"%s\"}\n",
		"text/plain":                        "found %s.",
		"text/html":                         `<a href="mailto:%s">%s</a><!-- %s -->`,
		"text/x-stream":                     "data: {\"x\":\"%s\"}\n\n",
		"application/javascript":            `var x = '%s'; f({"y": "%s"})`,
		"text/csv":                          "id,who\n1,%s\n2,\"%s\"\n",
		"application/graphql":               `{ user(id: "%s") { name } }`,
		"application/x-yaml":                "who: %s\n",
		"application/xml":                   `<u who="%s"><![CDATA[%s]]></u>`,
		"":                                  "plain %s",
		"application/octet-stream":          "plain %s",
		"multipart/mixed; boundary=q":       "--q\r\nContent-Type: text/plain\r\n\r\n%s\r\n--q\r\nContent-Type: application/json\r\n\r\n{\"a\":\"%s\"}\r\n--q--\r\n",
		"text/plain; charset=windows-1252":  "caf\xe9 %s",
		"text/plain; charset=utf-16":        "\xff\xfe%s",
		"image/png":                         "\x89PNG\x00%s\x00",
		"application/grpc":                  "\x00\x00\x00\x00\x05%s",
		"multipart/form-data; boundary=bad": "no part at all %s",
	} {
		add("shape in "+kind, byItsShape, func(s string, r *sent) { r.both(kind, strings.ReplaceAll(f, "%s", s)) })
	}
	for coding, w := range map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"zstd":    func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
		"br":      func(w io.Writer) io.WriteCloser { return plain{w} }, // cannot be undone, so it is left out
		"gzip, x": func(w io.Writer) io.WriteCloser { return plain{w} },
	} {
		add(coding+" JSON", "", func(s string, r *sent) { r.both("application/json", `{"password":"`+s+`"}`); packed(r, coding, w) })
		add(coding+" text", byItsShape, func(s string, r *sent) { r.both("text/plain", "to "+s); packed(r, coding, w) })
	}
	add("gzip that is none", "", func(s string, r *sent) {
		r.both("application/json", `{"password":"`+s+`"}`)
		r.header.Set("Content-Encoding", "gzip")
		r.response.Set("Content-Encoding", "gzip")
	})
	return list
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// secrets for each kind of place; %d makes every one its own.
var (
	byName  = []string{"hunter%dsecret", "Zm9vYmFy%dcXV4"}
	byShape = []string{"bob%d@example.com", "o.brien+%d@mail.example.co.uk"}
	fixed   = []string{
		"4111111111111111", "4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005", "6011000990139424", "3530111333300000",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
	}
)

type planted struct {
	place  string
	secret string
	sent
}

func corpus() (list []planted) {
	n := 0
	for _, p := range plants() {
		var secrets []string
		kinds := byName
		if p.shape == byItsShape {
			kinds = byShape
			secrets = append(secrets, fixed...)
		}
		for _, f := range kinds {
			n++
			secrets = append(secrets, fmt.Sprintf(f, 1000+n))
		}
		for _, s := range secrets {
			c := planted{place: p.name, secret: s, sent: sent{method: http.MethodGet, target: "/x", header: http.Header{}, response: http.Header{}, status: 200}}
			p.put(s, &c.sent)
			list = append(list, c)
		}
	}
	return list
}

// forms are the ways in which a secret would be found again.
func forms(secret string) []string {
	return []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte("bob:" + secret)), strings.ReplaceAll(secret, " ", ""),
	}
}

// TestCorpusThroughTheGateway records the corpus end to end and looks for the
// secrets in the files themselves, decompressed.
func TestCorpusThroughTheGateway(t *testing.T) {
	list := corpus()
	monolith := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		var n int
		_, _ = fmt.Sscan(r.Header.Get("X-Planted"), &n)
		c := &list[n]
		for name, values := range c.response {
			w.Header()[name] = values
		}
		w.WriteHeader(c.status)
		_, _ = w.Write(c.content)
	}))
	defer monolith.Close()
	dir := filepath.Join(t.TempDir(), "log")
	key, err := Key(KeyPath(dir))
	fatal.If(t, err)
	rules, err := redact.New(redact.Rules{}, key)
	fatal.If(t, err)
	rec, err := Open(Options{Dir: dir, Redactor: rules})
	fatal.If(t, err)
	g, err := gateway.New(gateway.Options{Monolith: whittle.Upstream{URL: monolith.URL, Timeout: 10 * time.Second, MaxResponse: 1 << 20, MaxConns: 100}, Record: rec.Offer})
	fatal.If(t, err)
	g.SetRecording(whittle.All, 0)
	front := httptest.NewServer(g)
	client := &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for i := range list {
		c := &list[i]
		req, err := http.NewRequest(c.method, front.URL+c.target, bytes.NewReader(c.body))
		if err != nil {
			t.Fatalf("%s: %v", c.place, err)
		}
		req.Header = c.header.Clone()
		req.Header.Set("X-Planted", fmt.Sprint(i))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", c.place, err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !bytes.Equal(b, c.content) {
			t.Errorf("%s: the user got %q", c.place, b)
		}
	}
	client.CloseIdleConnections()
	front.Close()
	fatal.If(t, g.Close(context.Background()))
	fatal.If(t, rec.Close())
	if c := rec.Counts(); c.Recorded != int64(len(list)) || c.Shed+c.Dropped+c.Lost > 0 {
		t.Errorf("%d exchanges: %+v", len(list), c)
	}
	entries := read(t, dir)
	if len(entries) != len(list) {
		t.Fatalf("%d entries of %d", len(entries), len(list))
	}
	all := raw(t, dir)
	for _, e := range entries {
		b, err := capture.AppendEntry(nil, e)
		fatal.If(t, err)
		all = append(all, b...)
	}
	for i := range list {
		for _, form := range forms(list[i].secret) {
			if bytes.Contains(all, []byte(form)) {
				t.Errorf("%s: %q is on the disk", list[i].place, form)
			}
		}
	}
	if bytes.Contains(all, []byte(fmt.Sprintf("%x", key))) {
		t.Error("the key is in the log")
	}
}

// raw is every file of a folder, and whatever in it zstd can read.
func raw(t *testing.T, dir string) (all []byte) {
	t.Helper()
	files, err := os.ReadDir(dir)
	fatal.If(t, err)
	d, err := zstd.NewReader(nil)
	fatal.If(t, err)
	defer d.Close()
	frames := 0
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		fatal.If(t, err)
		all = append(all, b...)
		for rest := b; ; {
			i := bytes.Index(rest, []byte{0x28, 0xb5, 0x2f, 0xfd})
			if i < 0 {
				break
			}
			rest = rest[i:]
			if out, _ := d.DecodeAll(rest, nil); len(out) > 0 {
				all = append(all, out...)
				frames++
			}
			rest = rest[4:]
		}
	}
	if frames == 0 {
		t.Error("no compressed block was found in the files")
	}
	return all
}
