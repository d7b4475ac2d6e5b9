package h2

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"

	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// headBlock is the header that is being read. It belongs to the reading goroutine.
type headBlock struct {
	stream    uint32
	endStream bool
	open      bool   // more of it is to come
	block     []byte // what has come of one that came in several frames
	// fault is what is wrong with the frame, not with the header.
	fault error

	// What follows is of the header as it is decoded. pseudo are :method, :scheme,
	// :authority and :path; has says which of them came.
	pseudo [4]string
	has    [4]bool
	fields []hpack.HeaderField
	size   int
	// tooLarge says that there is more than may be: fields end before. bad says that the
	// header is malformed.
	tooLarge, bad bool
}

const (
	method = iota
	scheme
	authority
	path
)

var pseudoNames = [4]string{":method", ":scheme", ":authority", ":path"}

// keptFields and keptBlock bound the memory that a connection keeps for its next header.
const (
	keptFields = 64
	keptBlock  = 8 << 10
)

func (h *headBlock) reset(stream uint32, endStream bool) {
	h.forget()
	*h = headBlock{stream: stream, endStream: endStream, fields: h.fields, block: h.block}
}

// forget lets go of what came: a client may be idle for long before its next request.
func (h *headBlock) forget() {
	clear(h.fields)
	h.fields, h.block, h.pseudo = h.fields[:0], h.block[:0], [4]string{}
	if cap(h.fields) > keptFields {
		h.fields = nil
	}
	if cap(h.block) > keptBlock {
		h.block = nil
	}
}

func (c *conn) takeHeaders(f *frame) error {
	if f.stream%2 == 0 {
		return connError{codeProtocol, "HEADERS on a stream that no client begins"}
	}
	p, err := f.content()
	if err != nil {
		return err
	}
	c.head.reset(f.stream, f.has(flagEndStream))
	if f.has(flagPriority) {
		if len(p) < priorityLength {
			return connError{codeFrameSize, "HEADERS are shorter than their priority"}
		}
		if dependency(p) == f.stream {
			c.head.fault = streamError{f.stream, codeProtocol}
		}
		p = p[priorityLength:]
	}
	if f.has(flagEndHeaders) {
		return c.decode(p)
	}
	if c.begun.IsZero() {
		c.begun = time.Now()
	}
	c.head.open = true
	c.head.block = append(c.head.block, p...)
	return nil
}

func (c *conn) takeContinuation(f *frame) error {
	h := &c.head
	switch {
	case !h.open:
		return connError{codeProtocol, "CONTINUATION of nothing"}
	case len(h.block)+len(f.payload) > c.maxBlock():
		return connError{codeCalm, "a header is far too long"}
	}
	h.block = append(h.block, f.payload...)
	if f.has(flagEndHeaders) {
		return c.decode(h.block)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.useless()
}

// maxBlock is how long a header may be as it is sent. A header that is a little too long is
// refused, but read to its end, so that the connection can go on.
func (c *conn) maxBlock() int { return 2*c.s.c.HeaderBytes + maxFrame }

// decode reads a header that has come in whole, and does what it says.
func (c *conn) decode(block []byte) error {
	h := &c.head
	defer h.forget()
	h.open, c.begun = false, time.Time{}
	c.dec.SetEmitEnabled(true)
	if _, err := c.dec.Write(block); err != nil {
		return connError{codeCompression, err.Error()}
	}
	if err := c.dec.Close(); err != nil {
		return connError{codeCompression, err.Error()}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.streams[h.stream]
	switch {
	case st != nil && st.whole:
		return streamError{h.stream, codeStreamClosed}
	case st != nil:
		return st.takeTrailer(h)
	case h.stream <= c.last && c.wasReset(h.stream):
		return c.useless() // it was sent before the client knew
	case h.stream <= c.last:
		return connError{codeStreamClosed, "HEADERS on a stream that has ended"}
	case c.departure == goes:
		return c.useless() // the client was told
	}
	c.last = h.stream
	if h.fault != nil {
		return h.fault
	}
	if len(c.streams) >= c.s.c.Streams && c.underWay() >= c.s.c.Streams {
		return streamError{h.stream, codeRefused}
	}
	st = c.newStream(h)
	if st == nil {
		return streamError{h.stream, codeProtocol}
	}
	return c.begin(st)
}

// underWay is how many streams have not ended for the client. One that has may still have
// a handler. The caller holds mu.
func (c *conn) underWay() (n int) {
	for _, st := range c.streams {
		if !st.whole || !st.w.ended {
			n++
		}
	}
	return n
}

// takeField takes a decoded field.
func (c *conn) takeField(f hpack.HeaderField) {
	h := &c.head
	if h.size += int(f.Size()); h.size > c.s.c.headerList() {
		h.tooLarge = true
		c.dec.SetEmitEnabled(false)
		return
	}
	if f.IsPseudo() {
		i := slices.Index(pseudoNames[:], f.Name)
		if i < 0 || h.has[i] || len(h.fields) > 0 {
			h.bad = true
			return
		}
		h.has[i], h.pseudo[i] = true, f.Value
		return
	}
	h.bad = h.bad || !isName(f.Name) || !isValue(f.Value) || connectionSpecific(f.Name, f.Value)
	h.fields = append(h.fields, f)
}

// isName reports whether a name is a token in lower case.
func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return http1.IsToken(name)
}

// isValue reports whether a value may be a field's: without control characters, and
// without blanks around it (RFC 9113, section 8.2.1).
func isValue(v string) bool {
	return http1.IsValue(v) && v == strings.Trim(v, " \t")
}

// connectionSpecific reports whether a field is one that HTTP/2 does not have.
func connectionSpecific(name, value string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		return true
	case "te":
		return value != "trailers" && value != ""
	}
	return false
}

// newStream makes the stream of a header, with its request; nil: it is malformed. The
// caller holds mu.
func (c *conn) newStream(h *headBlock) *stream {
	st := &stream{c: c, id: h.stream, window: c.startsWith, left: bodyWindow, length: -1, whole: h.endStream}
	st.Init(c.values)
	st.came.L, st.may.L = &c.mu, &c.mu
	if h.bad {
		return nil
	}
	st.w.begin(st, h.pseudo[method] == http.MethodHead)
	if h.tooLarge {
		st.refused = http.StatusRequestHeaderFieldsTooLarge
		return st
	}
	st.r = empty.WithContext(st)
	st.fields(h)
	if !st.about(h) || !st.bodyOf() {
		return nil
	}
	return st
}

var empty http.Request

// fields makes the request's header.
func (st *stream) fields(h *headBlock) {
	header := make(http.Header, len(h.fields))
	values := make([]string, len(h.fields)) // one piece of memory for all
	for i, f := range h.fields {
		name := st.c.canonical(f.Name)
		if had := header[name]; had != nil {
			header[name] = append(had, f.Value)
			continue
		}
		values[i] = f.Value
		header[name] = values[i : i+1 : i+1]
	}
	if crumbs := header["Cookie"]; len(crumbs) > 1 { // a cookie may come in crumbs (section 8.2.3)
		header["Cookie"] = []string{strings.Join(crumbs, "; ")}
	}
	st.r.Header = header
}

// maxNames bounds the names of fields that a connection remembers.
const maxNames = 64

// canonical is a field's name as net/http spells it.
func (c *conn) canonical(name string) string {
	if known, ok := c.names[name]; ok {
		return known
	}
	known := textproto.CanonicalMIMEHeaderKey(name)
	if len(c.names) < maxNames && len(name) < 64 {
		if c.names == nil {
			c.names = map[string]string{}
		}
		c.names[strings.Clone(name)] = known
	}
	return known
}

// about fills in what the pseudo fields say. False: it is malformed.
func (st *stream) about(h *headBlock) bool {
	r, c := st.r, st.c
	r.Method, r.Host = h.pseudo[method], h.pseudo[authority]
	r.Proto, r.ProtoMajor, r.RemoteAddr, r.TLS = "HTTP/2.0", 2, c.remote, c.tls
	if hosts := r.Header["Host"]; r.Host == "" && len(hosts) > 0 {
		r.Host = hosts[0]
	}
	if !http1.IsToken(r.Method) || !httpguts.ValidHostHeader(r.Host) || strings.IndexByte(r.Host, '@') >= 0 {
		return false
	}
	if r.Method == http.MethodConnect {
		r.URL, r.RequestURI = &url.URL{Host: r.Host}, r.Host
		return !h.has[path] && !h.has[scheme] && h.pseudo[authority] != ""
	}
	if target := h.pseudo[path]; strings.HasPrefix(target, "/") || target == "*" && r.Method == http.MethodOptions {
		u, err := url.ParseRequestURI(target)
		if r.URL, r.RequestURI = u, target; err != nil {
			st.refused = http.StatusBadRequest // as over HTTP/1.1, where no byte of it ends a line
		}
		return http1.IsTarget(target) && (h.pseudo[scheme] == "http" || h.pseudo[scheme] == "https")
	}
	return false
}

// bodyOf fills in what the header says of the body. False: it is malformed.
func (st *stream) bodyOf() bool {
	r := st.r
	if lengths := r.Header["Content-Length"]; len(lengths) > 0 {
		n, err := strconv.ParseUint(lengths[0], 10, 63)
		if err != nil || slices.ContainsFunc(lengths[1:], func(l string) bool { return l != lengths[0] }) {
			return false
		}
		if len(lengths) > 1 {
			st.refused = http.StatusBadRequest // as over HTTP/1.1
		}
		st.length = int64(n)
	}
	if httpfield.HasToken(r.Header["Expect"], "100-continue") {
		delete(r.Header, "Expect")
		st.continues = !st.whole
	}
	st.announce()
	r.Body = http.NoBody
	if st.whole {
		return st.length <= 0
	}
	r.ContentLength = st.length
	st.body.st = st
	r.Body = &st.body
	return true
}

// announce notes the trailer that the header announces.
func (st *stream) announce() {
	for _, name := range httpfield.Names(st.r.Header["Trailer"]...) {
		if !http1.IsToken(name) || !httpguts.ValidTrailerHeader(name) {
			continue
		}
		if st.r.Trailer == nil {
			st.r.Trailer = http.Header{}
		}
		st.r.Trailer[name] = nil
	}
	delete(st.r.Header, "Trailer")
}
