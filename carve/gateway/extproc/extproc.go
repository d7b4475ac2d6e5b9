// Package extproc reads what Envoy's ext_proc filter says of a request and its response: a
// stream of envoy.service.ext_proc.v3.ProcessingRequest over gRPC. It knows the few fields
// that say what went by; the whole of Envoy's API would outweigh the rest of whittle.
package extproc

import (
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Procedure is the path of the RPC.
const Procedure = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"

// MaxMessage bounds one message, in bytes. Envoy sends a body in pieces of its own buffers,
// and a header of at most 60 KiB by default.
const MaxMessage = 4 << 20

// Kind says what a message is about: its field in ProcessingRequest.
type Kind protowire.Number

// The kinds of messages.
const (
	RequestHeaders   Kind = 2
	ResponseHeaders  Kind = 3
	RequestBody      Kind = 4
	ResponseBody     Kind = 5
	RequestTrailers  Kind = 6
	ResponseTrailers Kind = 7
)

// Message is one ProcessingRequest. Its body is good until the next one is read.
type Message struct {
	Kind Kind
	// Fields are those of headers or trailers, in order; the names are in lower case.
	Fields []Field
	Body   []byte
	// End says that nothing follows of the request, or of the response.
	End bool
	// Cluster is the upstream cluster, where the filter sends the attribute
	// xds.cluster_name. Empty: it does not.
	Cluster string
	// Waits says that Envoy waits for a response to the message: the filter does not
	// observe, and holds up the user.
	Waits bool
}

// Field is one line of a header.
type Field struct{ Name, Value string }

// Reader reads a stream of messages.
type Reader struct {
	from io.Reader
	room func(more int64) bool
	buf  []byte
}

// NewReader makes a reader of a gRPC request's body. room is asked before the memory for a
// message grows.
func NewReader(from io.Reader, room func(more int64) bool) *Reader {
	return &Reader{from: from, room: room}
}

// ErrNoRoom says that there is no memory for a message.
var ErrNoRoom = errors.New("no room for a message of Envoy's ext_proc filter")

// errMessage is the error of bytes that are no message.
var errMessage = errors.New("not a message of Envoy's ext_proc filter")

// Next reads a message. Its error is io.EOF at the stream's end.
func (r *Reader) Next() (m Message, err error) {
	var prefix [5]byte
	if _, err := io.ReadFull(r.from, prefix[:]); err != nil {
		return m, err
	}
	size := binary.BigEndian.Uint32(prefix[1:])
	if prefix[0] != 0 || size > MaxMessage {
		return m, errMessage // compressed, or too long
	}
	if more := int64(size) - int64(cap(r.buf)); more > 0 {
		if !r.room(more) {
			return m, ErrNoRoom
		}
		r.buf = make([]byte, size)
	}
	r.buf = r.buf[:size]
	if _, err := io.ReadFull(r.from, r.buf); err != nil {
		return m, errors.Join(io.ErrUnexpectedEOF, err)
	}
	m.Waits = true
	ok := eachField(r.buf, func(n protowire.Number, v []byte, x uint64) bool {
		switch {
		case n >= protowire.Number(RequestHeaders) && n <= protowire.Number(ResponseTrailers):
			m.Kind = Kind(n)
			return m.part(v)
		case n == 9:
			return eachField(v, m.attribute)
		case n == 10:
			m.Waits = x == 0
		}
		return true
	})
	if !ok {
		return m, errMessage
	}
	return m, nil
}

// part reads HttpHeaders, HttpBody or HttpTrailers.
func (m *Message) part(b []byte) bool {
	return eachField(b, func(n protowire.Number, v []byte, x uint64) bool {
		switch m.Kind {
		case RequestBody, ResponseBody:
			switch n {
			case 1:
				m.Body = v
			case 2:
				m.End = x != 0
			}
		default:
			switch n {
			case 1:
				return eachField(v, m.field)
			case 3:
				m.End = x != 0
			}
		}
		return true
	})
}

// field reads a HeaderValue of a HeaderMap.
func (m *Message) field(n protowire.Number, b []byte, _ uint64) bool {
	if n != 1 {
		return true
	}
	var f Field
	ok := eachField(b, func(n protowire.Number, v []byte, _ uint64) bool {
		switch n {
		case 1:
			f.Name = string(v)
		case 2, 3: // as text, or as it came
			f.Value += string(v)
		}
		return true
	})
	m.Fields = append(m.Fields, f)
	return ok
}

// attribute reads an entry of attributes: a filter's name and a Struct, of whose fields one is
// the cluster's.
func (m *Message) attribute(n protowire.Number, b []byte, _ uint64) bool {
	if n != 2 {
		return true
	}
	return eachField(b, func(n protowire.Number, b []byte, _ uint64) bool {
		name, value := "", ""
		ok := n != 1 || eachField(b, func(n protowire.Number, b []byte, _ uint64) bool {
			if n == 1 {
				name = string(b)
				return true
			}
			return n != 2 || eachField(b, func(n protowire.Number, b []byte, _ uint64) bool {
				if n == 3 {
					value = string(b)
				}
				return true
			})
		})
		if name == "xds.cluster_name" {
			m.Cluster = value
		}
		return ok
	})
}

// eachField yields the fields of a message: the bytes of one, or its number. False: they are no
// message, or yield says so.
func eachField(b []byte, yield func(n protowire.Number, v []byte, x uint64) bool) bool {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return false
		}
		b = b[size:]
		var v []byte
		var x uint64
		switch kind {
		case protowire.BytesType:
			v, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			x, size = protowire.ConsumeVarint(b)
		default:
			size = protowire.ConsumeFieldValue(n, kind, b)
		}
		if size < 0 || !yield(n, v, x) {
			return false
		}
		b = b[size:]
	}
	return true
}
