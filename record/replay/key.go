package replay

import (
	"net/textproto"
	"strconv"
	"strings"

	"whittle"
	"whittle/record/capture"
)

// Key selects the requests whose order is kept among themselves. The zero value
// keeps the order within each connection.
type Key struct {
	by   keyKind
	name string
}

type keyKind uint8

const (
	byConnection keyKind = iota
	byHeader
	byNothing
)

// ParseKey reads "connection", "header:NAME" or "none".
func ParseKey(s string) (Key, error) {
	kind, name, _ := strings.Cut(s, ":")
	k := Key{name: name}
	switch {
	case s == "" || s == "connection":
		return Key{}, nil
	case s == "none":
		k.by = byNothing
	case kind == "header" && name != "":
		k.by, k.name = byHeader, textproto.CanonicalMIMEHeaderKey(name)
	default:
		return Key{}, whittle.Errorf(whittle.Invalid, "%q is not a key", s).
			WithHint("write connection, header:NAME or none")
	}
	return k, nil
}

// queue names the queue that keeps e in order; it is empty where e may be sent
// at any time.
func (k Key) queue(e *capture.Entry) string {
	switch k.by {
	case byConnection:
		if e.Conn == 0 {
			return ""
		}
		return strconv.FormatUint(e.Conn, 16)
	case byHeader:
		return e.Request.Header.Get(k.name)
	}
	return ""
}
