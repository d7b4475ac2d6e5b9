package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/net/http2/hpack"
)

// streams is HTTP/2 (RFC 9113) on a connection: one stream at a time, frames in place, and
// no goroutine.
type streams struct {
	*conn
	encoder  *hpack.Encoder
	decoder  *hpack.Decoder
	block    bytes.Buffer // of headers, encoded
	frames   []byte       // that are to be written
	head     []byte       // of the last request, and lines are its fields
	lines    []hpack.HeaderField
	begun    bool   // the preface is sent
	next     uint32 // the number of the next stream
	leaving  bool   // the server takes no more streams
	consumed int64  // bytes of data since the connection's receive window was opened last
	room     int64  // bytes that may be sent on the connection
	initial  int64  // bytes that may be sent on a new stream
	most     int    // bytes of a frame's payload that may be sent

	// The following is of the stream under way.
	stream     uint32
	streamRoom int64 // bytes that may be sent on it
	given      int64 // bytes of data since its receive window was opened last
	into       *response
	keep       int   // bytes of the body to keep
	length     int64 // content-length; −1: there is none
	headed     bool  // the final header section has come
	over       bool  // the response has ended
	fields     int   // bytes of the present header section
	wrong      error // what is wrong with that section
	interim    int   // 1xx responses so far
}

// The frames of HTTP/2, their flags and settings.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindow       = 8
	frameContinuation = 9

	flagEndStream  = 1 // of settings and ping: an acknowledgement
	flagEndHeaders = 4
	flagPadded     = 8
	flagPriority   = 32

	frameHead    = 9
	maxFrame     = 16 << 10
	maxWindow    = 1<<31 - 1
	firstWindow  = 1<<16 - 1
	giveBack     = 1 << 29  // bytes of data after which a receive window is opened again
	maxStream    = 1 << 30  // the number of a stream after which a connection is replaced
	maxUnasked   = 100      // frames that are read between two requests
	maxTableSize = 64 << 10 // bytes of the HPACK table that the server may ask for
)

const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// lookWithin bounds the wait for the rest of a frame between two requests.
const lookWithin = time.Millisecond

// errLeaving says that the server has not begun to handle a request.
var errLeaving = errors.New("the server takes no more requests on this connection")

func newStreams(c *conn) *streams {
	s := &streams{conn: c, next: 1, room: firstWindow, initial: firstWindow, most: maxFrame}
	s.encoder = hpack.NewEncoder(&s.block)
	s.encoder.SetMaxDynamicTableSizeLimit(maxTableSize)
	s.decoder = hpack.NewDecoder(4096, s.field)
	s.decoder.SetMaxStringLength(maxHead)
	return s
}

// usable takes in what the server has sent since the last response, and reports whether
// it takes another request.
func (s *streams) usable() bool {
	until := time.Unix(1, 0) // an event loop's socket reads what is there all the same
	in, onLoop := s.conn.stream.(interface{ HasInput() bool })
	input := onLoop && in.HasInput()
	if !onLoop {
		until, input = s.conn.now().Add(lookWithin), s.closedByPeer()
	}
	if (input || s.r < s.w) && s.SetDeadline(until) == nil {
		var err error
		for n := 0; err == nil && n < maxUnasked; n++ {
			err = s.readFrame()
		}
		s.leaving = s.leaving || !errors.Is(err, os.ErrDeadlineExceeded)
	}
	return !s.leaving && s.next < maxStream
}

// roundTrip sends the request that was rendered for HTTP/1.1 and reads its response.
func (s *streams) roundTrip(raw []byte, scheme, method string, keep int, into *response) (sent int, first time.Time, err error) {
	head, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	s.stream, s.streamRoom, s.given, s.length, s.keep, s.into = s.next, s.initial, 0, -1, keep, into
	s.headed, s.over, s.wrong, s.interim = false, false, nil, 0
	s.next += 2
	s.firstByte = time.Time{}
	*into = response{head: into.head[:0], body: into.body[:0], setsCookies: true}
	if !s.begun {
		s.begin()
	}
	if err := s.encode(head, scheme); err != nil {
		return 0, first, err
	}
	s.header(len(body) == 0)
	var broken error // a write: the server may have responded before it closed
	for whole := false; !s.over; {
		if !whole && broken == nil {
			var n int
			body = s.data(body)
			n, broken = s.flush()
			sent, whole = sent+n, len(body) == 0
		}
		if err := s.await(&first); err != nil {
			return sent, first, cmp.Or(broken, err)
		}
	}
	if method != "HEAD" && into.status != 304 && s.length >= 0 && s.length != into.size {
		err = malformed("content-length is %d, and %d bytes came", s.length, into.size)
	}
	into.reusable = len(body) == 0 && broken == nil // else the server still waits for the rest
	return sent, first, err
}

// await reads a frame, and notes when the first of the response came.
func (s *streams) await(first *time.Time) error {
	if err := s.readFrame(); err != nil {
		return err
	}
	if first.IsZero() && (s.headed || s.interim > 0) {
		*first = s.firstByte
	} else if first.IsZero() && s.r == s.w {
		s.firstByte = time.Time{} // what came was not of the response
	}
	return s.wrong
}

// begin appends the client preface with its settings.
func (s *streams) begin() {
	s.begun = true
	s.frames = append(s.frames, http2Preface...)
	s.frame(frameSettings, 0, 0, 18)
	for _, setting := range [3][2]uint32{{2, 0}, {4, maxWindow}, {6, maxHead}} { // no pushes; the windows; the header sections
		s.frames = binary.BigEndian.AppendUint16(s.frames, uint16(setting[0]))
		s.frames = binary.BigEndian.AppendUint32(s.frames, setting[1])
	}
	s.openWindow(0, maxWindow-firstWindow)
}

// frame appends the head of a frame.
func (s *streams) frame(kind, flags byte, stream uint32, length int) {
	s.frames = append(s.frames, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	s.frames = binary.BigEndian.AppendUint32(s.frames, stream)
}

func (s *streams) openWindow(stream uint32, by int64) {
	s.frame(frameWindow, 0, stream, 4)
	s.frames = binary.BigEndian.AppendUint32(s.frames, uint32(by))
}

// flush writes the frames.
func (s *streams) flush() (int, error) {
	if len(s.frames) == 0 {
		return 0, nil
	}
	n, err := s.Write(s.frames)
	s.frames = s.frames[:0]
	return n, err
}

// encode makes a header block of a request's head.
func (s *streams) encode(head []byte, scheme string) error {
	s.block.Reset()
	if !bytes.Equal(head, s.head) || len(s.lines) == 0 {
		if err := s.parse(head, scheme); err != nil {
			return err
		}
	}
	for _, f := range s.lines {
		_ = s.encoder.WriteField(f) // into a buffer
	}
	return nil
}

// parse takes a request's head apart, and keeps it for the next that is the same.
func (s *streams) parse(head []byte, scheme string) error {
	s.head, s.lines = append(s.head[:0], head...), s.lines[:0]
	line, rest, _ := bytes.Cut(head, crlf)
	method, target, _ := bytes.Cut(line, []byte{' '})
	target, _, ok := bytes.Cut(target, []byte{' '})
	if !ok {
		return fmt.Errorf("a request begins with %.20q", line)
	}
	s.lines = append(s.lines,
		hpack.HeaderField{Name: ":method", Value: string(method)}, hpack.HeaderField{Name: ":scheme", Value: scheme},
		hpack.HeaderField{Name: ":authority"}, hpack.HeaderField{Name: ":path", Value: string(target)},
	)
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, crlf)
		key, value, _ := bytes.Cut(line, []byte{':'})
		switch name := string(bytes.ToLower(key)); name {
		case "host":
			s.lines[2].Value = string(bytes.TrimSpace(value))
		case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
		default:
			s.lines = append(s.lines, hpack.HeaderField{Name: name, Value: string(bytes.TrimSpace(value))})
		}
	}
	return nil
}

// header appends the frames of the header block.
func (s *streams) header(last bool) {
	block, kind := s.block.Bytes(), byte(frameHeaders)
	for more := true; more; kind = frameContinuation {
		n := min(len(block), s.most)
		flags := byte(0)
		if last && kind == frameHeaders {
			flags |= flagEndStream
		}
		if more = n < len(block); !more {
			flags |= flagEndHeaders
		}
		s.frame(kind, flags, s.stream, n)
		s.frames = append(s.frames, block[:n]...)
		block = block[n:]
	}
}

// data appends as much of a body as the server has room for, and returns the rest.
func (s *streams) data(body []byte) []byte {
	for len(body) > 0 {
		n := int(min(int64(len(body)), int64(s.most), s.room, s.streamRoom))
		if n <= 0 {
			break
		}
		flags := byte(0)
		if n == len(body) {
			flags = flagEndStream
		}
		s.frame(frameData, flags, s.stream, n)
		s.frames = append(s.frames, body[:n]...)
		body = body[n:]
		s.room -= int64(n)
		s.streamRoom -= int64(n)
	}
	return body
}

// need reads until so many bytes are in the buffer.
func (s *streams) need(n int) error {
	for s.w-s.r < n {
		if err := s.fill(); err != nil {
			return err
		}
	}
	return nil
}

// readFrame reads one frame, acts on it, and writes the frames that it calls for.
func (s *streams) readFrame() error {
	kind, flags, stream, payload, err := s.readRaw()
	if err != nil {
		return err
	}
	switch kind {
	case frameData:
		err = s.takeData(flags, stream, payload)
	case frameHeaders:
		err = s.takeHeaders(flags, stream, payload)
	case framePush, frameContinuation:
		err = malformed("a frame of type %d that nobody asked for", kind)
	case frameReset:
		err = s.takeReset(stream, payload)
	case frameSettings:
		err = s.takeSettings(flags, payload)
	case framePing:
		if flags&flagEndStream == 0 && len(payload) == 8 {
			s.frame(framePing, flagEndStream, 0, 8)
			s.frames = append(s.frames, payload...)
		}
	case frameGoAway:
		if s.leaving = true; len(payload) >= 8 && s.stream > binary.BigEndian.Uint32(payload)&maxWindow && !s.over {
			err = errLeaving
		}
	case frameWindow:
		s.takeWindow(stream, payload)
	}
	_, _ = s.flush() // whether the connection is broken, the next read says
	return err
}

// readRaw reads one frame, whose payload is valid until the next.
func (s *streams) readRaw() (kind, flags byte, stream uint32, payload []byte, err error) {
	if err = s.need(frameHead); err != nil {
		return 0, 0, 0, nil, err
	}
	h := s.buf[s.r:]
	n := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
	kind, flags, stream = h[3], h[4], binary.BigEndian.Uint32(h[5:])&maxWindow
	if n > maxFrame {
		// A server of HTTP/1.1 says in its own protocol what it thinks of the preface.
		return 0, 0, 0, nil, malformed("a frame of %d bytes, %d at most: does it speak HTTP/2?", n, maxFrame)
	}
	if err = s.need(frameHead + n); err != nil {
		return 0, 0, 0, nil, err
	}
	payload = s.buf[s.r+frameHead : s.r+frameHead+n]
	s.r += frameHead + n
	return kind, flags, stream, payload, nil
}

// unpadded is a payload without its padding.
func unpadded(flags byte, b []byte) ([]byte, error) {
	if flags&flagPadded == 0 {
		return b, nil
	}
	if len(b) == 0 || int(b[0]) > len(b)-1 {
		return nil, malformed("a frame's padding is longer than the frame")
	}
	return b[1 : len(b)-int(b[0])], nil
}

func (s *streams) takeData(flags byte, stream uint32, payload []byte) error {
	if s.consumed += int64(len(payload)); s.consumed >= giveBack {
		s.openWindow(0, s.consumed)
		s.consumed = 0
	}
	content, err := unpadded(flags, payload)
	if err != nil || stream != s.stream || s.over {
		return err
	}
	if !s.headed {
		return malformed("data comes before the response's header")
	}
	if s.given += int64(len(payload)); s.given >= giveBack {
		s.openWindow(stream, s.given)
		s.given = 0
	}
	s.into.size += int64(len(content))
	if room := s.keep - len(s.into.body); room > 0 {
		s.into.body = append(s.into.body, content[:min(len(content), room)]...)
	}
	s.over = flags&flagEndStream != 0
	return nil
}

func (s *streams) takeHeaders(flags byte, stream uint32, payload []byte) error {
	block, err := unpadded(flags, payload)
	if err != nil {
		return err
	}
	if flags&flagPriority != 0 {
		if len(block) < 5 {
			return malformed("a header section is cut off")
		}
		block = block[5:]
	}
	own := stream == s.stream && !s.over
	trailer := s.headed
	s.fields = 0
	if !own || trailer {
		s.decoder.SetEmitEnabled(false)
	} else {
		s.into.status, s.into.head = 0, s.into.head[:0]
	}
	for size := len(block); ; {
		if _, err := s.decoder.Write(block); err != nil {
			return malformed("a header section: %w", err)
		}
		if flags&flagEndHeaders != 0 {
			break
		}
		var kind byte
		var of uint32
		if kind, flags, of, block, err = s.continued(flags); err != nil {
			return err
		}
		if size += len(block); kind != frameContinuation || of != stream || size > maxHead {
			return malformed("a header section is not continued, or has more than %d bytes", maxHead)
		}
	}
	if err := s.decoder.Close(); err != nil {
		return malformed("a header section: %w", err)
	}
	s.decoder.SetEmitEnabled(true)
	if !own {
		return nil
	}
	return s.headersRead(flags&flagEndStream != 0, trailer)
}

// continued reads the next part of a header section, which keeps the flag that ends its
// stream.
func (s *streams) continued(before byte) (kind, flags byte, stream uint32, block []byte, err error) {
	kind, flags, stream, block, err = s.readRaw()
	return kind, flags&flagEndHeaders | before&flagEndStream, stream, block, err
}

// headersRead takes in a whole header section.
func (s *streams) headersRead(last, trailer bool) error {
	switch {
	case s.wrong != nil:
		return s.wrong
	case trailer && !last:
		return malformed("a second header section does not end the response")
	case trailer:
		s.over = true
		return nil
	case s.into.status < 100 || s.into.status > 999 || s.into.status == 101:
		return malformed("a response has the status %d", s.into.status)
	case s.into.status < 200:
		if s.interim++; last || s.interim > maxInterim {
			return malformed("an interim response ends the stream, or there are more than %d", maxInterim)
		}
		return nil
	}
	s.headed, s.over = true, last
	return nil
}

// field takes in a field of a header section.
func (s *streams) field(f hpack.HeaderField) {
	s.fields += len(f.Name) + len(f.Value) + 32
	switch {
	case s.fields > maxHead:
		s.wrong = malformed("a header section of more than %d bytes", maxHead)
	case f.Name == ":status":
		n, err := strconv.Atoi(f.Value)
		if err != nil || len(f.Value) != 3 || s.into.status != 0 {
			s.wrong = malformed("the status is %.20q", f.Value)
		}
		s.into.status = n
	case len(f.Name) == 0 || f.Name[0] == ':' || s.into.status == 0 || !plainField(f.Name) || !plainField(f.Value):
		s.wrong = malformed("a field is called %.100q", f.Name)
	default:
		if f.Name == "content-length" {
			n, err := strconv.ParseInt(f.Value, 10, 64)
			if err != nil || n < 0 || s.length >= 0 && s.length != n {
				s.wrong = malformed("content-length is %.100q", f.Value)
			}
			s.length = n
		}
		s.into.head = append(append(s.into.head, f.Name...), ": "...)
		s.into.head = append(append(s.into.head, f.Value...), "\r\n"...)
	}
}

// plainField reports whether a name or a value is on one line.
func plainField(text string) bool {
	for i := range len(text) {
		if c := text[i]; c == '\r' || c == '\n' || c == 0 {
			return false
		}
	}
	return true
}

func (s *streams) takeReset(stream uint32, payload []byte) error {
	if stream != s.stream || s.over || len(payload) != 4 {
		return nil
	}
	const refused = 7
	code := binary.BigEndian.Uint32(payload)
	if code == refused {
		return errLeaving
	}
	return fmt.Errorf("the server has reset the stream, code %d: %w", code, io.ErrUnexpectedEOF)
}

func (s *streams) takeSettings(flags byte, payload []byte) error {
	if flags&flagEndStream != 0 {
		return nil
	}
	for ; len(payload) >= 6; payload = payload[6:] {
		value := binary.BigEndian.Uint32(payload[2:])
		switch binary.BigEndian.Uint16(payload) {
		case 1: // the table of the compression
			s.encoder.SetMaxDynamicTableSize(value)
		case 4: // the window of a stream
			if value > maxWindow {
				return malformed("a window of %d bytes", value)
			}
			s.streamRoom += int64(value) - s.initial
			s.initial = int64(value)
		case 5: // the size of a frame
			if value < maxFrame || value > 1<<24-1 {
				return malformed("frames of %d bytes", value)
			}
			s.most = min(int(value), 1<<20)
		}
	}
	s.frame(frameSettings, flagEndStream, 0, 0)
	return nil
}

func (s *streams) takeWindow(stream uint32, payload []byte) {
	if len(payload) != 4 {
		return
	}
	by := int64(binary.BigEndian.Uint32(payload) & maxWindow)
	switch stream {
	case 0:
		s.room = min(s.room+by, maxWindow)
	case s.stream:
		s.streamRoom = min(s.streamRoom+by, maxWindow)
	}
}
