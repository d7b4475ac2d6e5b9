package http1

import "bytes"

// kind is what a field is to this package.
type kind uint8

const (
	other kind = iota
	host
	contentLength
	expect
	// The following concern one connection only.
	connection
	transferEncoding
	upgrade
	trailer
	hop // any other field of this sort
)

func (k kind) hopByHop() bool { return k >= connection }

// framing reports whether a field says how the message is to be read or routed,
// so that it must not come after the body.
func (k kind) framing() bool { return k == host || k == contentLength || k == transferEncoding }

// kindOf finds the kind by the name's length first, since most names have a
// length of their own.
func kindOf(name []byte) kind {
	switch len(name) {
	case len("te"):
		return kindIf(name, "te", hop)
	case len("host"):
		return kindIf(name, "host", host)
	case len("expect"):
		return kindIf(name, "expect", expect)
	case len("upgrade"):
		if equalFold(name, "trailer") {
			return trailer
		}
		return kindIf(name, "upgrade", upgrade)
	case len("connection"):
		if equalFold(name, "keep-alive") {
			return hop
		}
		return kindIf(name, "connection", connection)
	case len("content-length"):
		return kindIf(name, "content-length", contentLength)
	case len("proxy-connection"):
		return kindIf(name, "proxy-connection", hop)
	case len("transfer-encoding"):
		return kindIf(name, "transfer-encoding", transferEncoding)
	case len("proxy-authenticate"):
		return kindIf(name, "proxy-authenticate", hop)
	case len("proxy-authorization"):
		return kindIf(name, "proxy-authorization", hop)
	}
	return other
}

func kindIf(name []byte, lower string, k kind) kind {
	if equalFold(name, lower) {
		return k
	}
	return other
}

// options are what Connection fields ask for.
type options uint8

const (
	asksClose options = 1 << iota
	asksKeepAlive
	asksUpgrade
	namesFields // it has other options, which name fields
)

// optionsOf reads a Connection field's value. Anything behind a semicolon in an
// option is ignored.
func optionsOf(value []byte) (o options) {
	for len(value) > 0 {
		option := value
		if i := bytes.IndexByte(value, ','); i >= 0 {
			option, value = value[:i], value[i+1:]
		} else {
			value = nil
		}
		if i := bytes.IndexByte(option, ';'); i >= 0 {
			option = option[:i]
		}
		switch option = trim(option); {
		case len(option) == 0:
		case equalFold(option, "keep-alive"):
			o |= asksKeepAlive
		case equalFold(option, "close"):
			o |= asksClose
		case equalFold(option, "upgrade"):
			o |= asksUpgrade
		default:
			o |= namesFields
		}
	}
	return o
}
