package redact

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
)

const (
	maxParts     = 1000
	maxPartDepth = 3
)

// multipart redacts a body of several parts (RFC 2046, RFC 7578). A part whose
// name is a secret's becomes a token, one that is no text loses its content.
func (w *work) multipart(contentType string, b []byte, depth int) (_ []byte, changed bool, left string) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" || depth >= maxPartDepth {
		return nil, true, leftParts
	}
	var out bytes.Buffer
	to := multipart.NewWriter(&out)
	if to.SetBoundary(params["boundary"]) != nil {
		return nil, true, leftParts
	}
	from := multipart.NewReader(bytes.NewReader(b), params["boundary"])
	for n := 0; ; n++ {
		part, err := from.NextRawPart()
		if errors.Is(err, io.EOF) && n > 0 {
			break
		}
		if err != nil || n >= maxParts {
			return nil, true, leftParts
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return nil, true, leftParts
		}
		body = w.part(part, body, depth)
		dst, err := to.CreatePart(w.partHeader(part))
		if err != nil {
			return nil, true, leftParts
		}
		_, _ = dst.Write(body) // to memory
	}
	if to.Close() != nil {
		return nil, true, leftParts
	}
	return out.Bytes(), true, ""
}

// part redacts one part's content.
func (w *work) part(part *multipart.Part, body []byte, depth int) []byte {
	if name := part.FormName(); name != "" && w.secretPath([]byte(name)) {
		return w.r.appendToken(nil, body)
	}
	switch part.Header.Get("Content-Transfer-Encoding") {
	case "", "7bit", "8bit", "binary":
	default:
		return nil // what is in it cannot be seen
	}
	out, _, _ := w.plain(part.Header.Get("Content-Type"), body, depth+1)
	return out
}

// partHeader redacts what a part says of itself: a file's name may be an
// address.
func (w *work) partHeader(part *multipart.Part) textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	for name, values := range part.Header {
		for _, v := range values {
			h.Add(name, w.field(name, v))
		}
	}
	return h
}
