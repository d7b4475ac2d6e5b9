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

// kinds are the names that have one, by their length: most names have a length of
// their own.
var kinds = [...][]struct {
	name string
	kind kind
}{
	len("te"):                  {{"te", hop}},
	len("host"):                {{"host", host}},
	len("expect"):              {{"expect", expect}},
	len("upgrade"):             {{"upgrade", upgrade}, {"trailer", trailer}},
	len("connection"):          {{"connection", connection}, {"keep-alive", hop}},
	len("content-length"):      {{"content-length", contentLength}},
	len("proxy-connection"):    {{"proxy-connection", hop}},
	len("transfer-encoding"):   {{"transfer-encoding", transferEncoding}},
	len("proxy-authenticate"):  {{"proxy-authenticate", hop}},
	len("proxy-authorization"): {{"proxy-authorization", hop}},
}

func kindOf(name []byte) kind {
	if len(name) < len(kinds) {
		for i := range kinds[len(name)] {
			if k := &kinds[len(name)][i]; equalFold(name, k.name) {
				return k.kind
			}
		}
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
