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
	header    string // "": the order is kept within each connection
	unordered bool   // no order is kept
}

// ParseKey reads "connection", "header:NAME" or "none".
func ParseKey(s string) (Key, error) {
	kind, name, _ := strings.Cut(s, ":")
	switch {
	case s == "" || s == "connection":
		return Key{}, nil
	case s == "none":
		return Key{unordered: true}, nil
	case kind == "header" && name != "":
		return Key{header: textproto.CanonicalMIMEHeaderKey(name)}, nil
	}
	return Key{}, whittle.Errorf(whittle.Invalid, "%q is not a key", s).WithHint("write connection, header:NAME or none")
}

// queue names the queue that keeps e in order; it is empty where e may be sent
// at any time.
func (k Key) queue(e *capture.Entry) string {
	switch {
	case k.header != "":
		return e.Request.Header.Get(k.header)
	case k.unordered || e.Conn == 0:
		return ""
	}
	return strconv.FormatUint(e.Conn, 16)
}
