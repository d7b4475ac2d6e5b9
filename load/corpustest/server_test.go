package corpustest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is what plans are sent to: it records every request, and responds by the path
// alone, so that tools and whittle see the same. A path's first part says what comes:
//
//	/redirect/CODE/PATH  a redirect to /PATH
//	/status/CODE         that status, with JSON
//	/cookie/NAME/VALUE   Set-Cookie NAME=VALUE for all paths, with JSON
//	/cookie-here/NAME/VALUE  the same without a path
//	/html /xml /text /list /empty  other bodies
//	/gzip                JSON that is compressed
//	/echo                the request as JSON
//
// and any other path JSON with a token.
type server struct {
	*httptest.Server
	tool string // whose plans are sent
	mu   sync.Mutex
	sent []request
	last map[int]time.Time // by connection: when its last response was written
}

type connectionKey struct{}

func newServer(tool string) *server {
	s := &server{tool: tool, last: map[int]time.Time{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	var connections atomic.Int64
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, int(connections.Add(1)))
	}
	s.Start()
	return s
}

const page = `<!doctype html><html><head><title>Shop</title></head><body><form action="/buy"><input name="csrf" value="c-42"></form>
<a class="item" href="/item/1">one</a><a class="item" href="/item/2">two</a></body></html>`

const document = `{"token":"t","data":{"id":5,"name":"Ann","ok":true},"items":[{"id":1,"kind":"a"},{"id":2,"kind":"b"}],"empty":"","nothing":null,"next":"/page/2"}`

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	user := r.Context().Value(connectionKey{}).(int)
	if s.tool == jmeterTool {
		user = jmeterUser(r)
	}
	s.record(user, r, body)
	defer s.responded(user)
	if s.tool == jmeterTool {
		respondToJMeter(w, r)
		return
	}
	w.Header().Set("x-request-id", "r-1")
	w.Header().Set("content-type", "application/json; charset=utf-8")
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	text := document
	switch parts[0] {
	case "redirect":
		code, _ := strconv.Atoi(parts[1])
		w.Header().Set("location", "/"+strings.Join(parts[2:], "/"))
		w.WriteHeader(code)
		return
	case "status":
		code, _ := strconv.Atoi(parts[1])
		w.WriteHeader(code)
	case "cookie", "cookie-here":
		if len(parts) < 3 {
			break
		}
		c := &http.Cookie{Name: parts[1], Value: parts[2]}
		if parts[0] == "cookie" {
			c.Path = "/"
		}
		http.SetCookie(w, c)
	case "html":
		w.Header().Set("content-type", "text/html; charset=utf-8")
		text = page
	case "xml":
		w.Header().Set("content-type", "application/xml")
		text = `<order id="7"><item sku="a">Tea</item><item sku="b">Cup</item></order>`
	case "text":
		w.Header().Set("content-type", "text/plain")
		text = "session=abc123; user=ann"
	case "list":
		text = `[{"id":1},{"id":2},{"id":3}]`
	case "empty":
		text = ""
	case "echo":
		all, _ := json.Marshal(map[string]any{"method": r.Method, "target": r.URL.RequestURI(), "body": string(body)})
		text = string(all)
	case "gzip":
		w.Header().Set("content-encoding", "gzip")
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write([]byte(document))
		_ = z.Close()
		text = packed.String()
	}
	_, _ = io.WriteString(w, text)
}

func (s *server) record(user int, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := 0
	if last, ok := s.last[user]; ok {
		wait = rounded(time.Since(last))
	}
	q := request{User: user, Wait: wait, Method: r.Method, Target: r.RequestURI, Headers: s.headers(r), Body: strings.ToValidUTF8(string(body), "\ufffd")}
	plainBoundary(&q)
	q.Body = strings.ReplaceAll(q.Body, s.Listener.Addr().String(), "TARGET")
	s.sent = append(s.sent, q)
}

func (s *server) responded(user int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[user] = time.Now()
}

// rounded is a pause in steps of 100 ms.
func rounded(d time.Duration) int {
	return int((d + 40*time.Millisecond) / (100 * time.Millisecond) * 100)
}

// own are headers that each tool has its own of, or that only frame the message.
var own = []string{"Host", "Connection", "Proxy-Connection", "Keep-Alive", "Content-Length", "Transfer-Encoding"}

// defaultAgent is the user-agent of a tool whose plan sets none.
var defaultAgent = regexp.MustCompile(`^(got \(|Artillery \(|whittle|Apache-HttpClient|Java/)`)

// headers are those that matter, with names in lower case. Of accept-encoding only that
// compressed responses are asked for.
func (s *server) headers(r *http.Request) map[string]string {
	out := map[string]string{}
	for name, values := range r.Header {
		out[strings.ToLower(name)] = strings.ReplaceAll(strings.Join(values, " | "), s.Listener.Addr().String(), "TARGET")
	}
	for _, name := range own {
		delete(out, strings.ToLower(name))
	}
	if host := r.Host; host != s.Listener.Addr().String() {
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		out["host"] = strings.ReplaceAll(host, port, "PORT")
	}
	if s.tool == jmeterTool {
		jmeterHeaders(r, out)
	}
	if defaultAgent.MatchString(out["user-agent"]) {
		delete(out, "user-agent")
	}
	if out["accept"] == "*/*" {
		delete(out, "accept")
	}
	if v, ok := out["accept-encoding"]; ok && strings.Contains(v, "gzip") {
		out["accept-encoding"] = "gzip"
	}
	return out
}

var boundary = regexp.MustCompile(`boundary="?([^";]+)"?`)

// plainBoundary gives a form one boundary, and its parts' headers names in lower case.
func plainBoundary(q *request) {
	m := boundary.FindStringSubmatch(q.Headers["content-type"])
	if m == nil {
		return
	}
	q.Headers["content-type"] = strings.ReplaceAll(q.Headers["content-type"], m[0], "boundary=BOUNDARY")
	q.Body = strings.ReplaceAll(q.Body, m[1], "BOUNDARY")
}

// requests are those so far, their users numbered in the order of their first requests.
func (s *server) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	numbers := map[int]int{}
	out := make([]request, len(s.sent))
	for i, q := range s.sent {
		n, ok := numbers[q.User]
		if !ok {
			n = len(numbers)
			numbers[q.User] = n
		}
		q.User = n
		out[i] = q
	}
	return out
}

// jmeterTool is the folder of JMeter's plans, which were written for a server of their own.
const jmeterTool = "jmeter"

// jmeterUser is whose a request says it is: JMeter's users open several connections.
func jmeterUser(r *http.Request) int {
	n, _ := strconv.Atoi(r.Header.Get("X-User"))
	return n
}

// jmeterHeaders keeps that a connection is closed, and puts cookies in an order.
func jmeterHeaders(r *http.Request, out map[string]string) {
	delete(out, "accept-encoding")
	if r.Header.Get("Connection") == "close" || r.Close {
		out["connection"] = "close"
	}
	if all := strings.Split(out["cookie"], "; "); len(all) > 1 {
		slices.Sort(all)
		out["cookie"] = strings.Join(all, "; ")
	}
}

const jmeterPage = `<html><head><title>A page</title><link rel="stylesheet" href="/style.css"><script src="/app.js"></script></head>
<body background="/bg.png"><a href="/l1">one</a> <a href="/l2?x=1&amp;y=2">two</a>
<form action="/send"><input type="hidden" name="csrf" value="c5rf"></form>
<img src="/a.png"><img src="/b.png?v=1"><img src="/a.png"><div class="item">x <b>bold</b></div></body></html>`

// respondToJMeter responds to a request of a JMeter plan, by its path:
//
//	/status/CODE  /redirect/CODE  /redirect-cookie  /slow/MILLISECONDS
//	/cookie?n=NAME&v=VALUE   Set-Cookie NAME=VALUE
//	/basic                   401 until there is an authorization
//	/page /text              other bodies
//
// and to any other with JSON.
func respondToJMeter(w http.ResponseWriter, r *http.Request) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	h := w.Header()
	switch kind {
	case "status":
		code, _ := strconv.Atoi(rest)
		w.WriteHeader(code)
		return
	case "redirect":
		code, _ := strconv.Atoi(rest)
		h.Set("Location", "/landed?from="+rest)
		w.WriteHeader(code)
		return
	case "redirect-cookie":
		h.Set("Set-Cookie", "onway=1; Path=/")
		h.Set("Location", "/landed")
		w.WriteHeader(http.StatusFound)
		return
	case "cookie":
		h.Set("Set-Cookie", r.URL.Query().Get("n")+"="+r.URL.Query().Get("v")+"; Path=/")
	case "slow":
		ms, _ := strconv.Atoi(rest)
		time.Sleep(time.Duration(ms) * time.Millisecond)
	case "basic":
		if r.Header.Get("Authorization") == "" {
			h.Set("Www-Authenticate", `Basic realm="corpus"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
	case "page":
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, jmeterPage)
		return
	case "text":
		h.Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "id=1; id=2; id=3;")
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	_, _ = fmt.Fprintf(w, `{"path":%q,"token":"t","flag":true,"price":1.50,"data":{"id":5},"items":[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"}]}`, r.URL.Path)
}
