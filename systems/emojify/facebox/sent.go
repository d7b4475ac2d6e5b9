package facebox

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"whittle"
)

// sent returns the picture of a request, its part file. FaceBox's other ways, url and base64,
// are refused.
func (s *Service) sent(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	r.Body = http.MaxBytesReader(w, r.Body, s.o.Limits.Bytes+64<<10) // with what stands around it
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil, whittle.Errorf(whittle.Invalid, "a picture comes as the part file of multipart/form-data, and the content type cannot be read")
	case kind != "multipart/form-data":
		return nil, whittle.Errorf(whittle.Unsupported, "a picture comes as the part file of multipart/form-data, not as %.100q", kind)
	}
	var file []byte
	for m := multipart.NewReader(r.Body, params["boundary"]); ; {
		p, err := m.NextPart()
		switch {
		case err == io.EOF && file == nil: //nolint:errorlint // wrapped, it is a body that was broken off
			return nil, whittle.Errorf(whittle.Invalid, "the form has no part file")
		case err == io.EOF: //nolint:errorlint // as above
			return file, nil
		case err != nil:
			return nil, unread(err)
		case p.FormName() != "file":
			continue
		case file != nil:
			return nil, whittle.Errorf(whittle.Invalid, "there is more than one file")
		}
		if file, err = io.ReadAll(p); err != nil { // the body has a bound
			return nil, unread(err)
		}
	}
}

// unread says why a body could not be read.
func unread(err error) error {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return whittle.Errorf(whittle.ResourceExhausted, "the request has more than %d bytes", large.Limit)
	}
	return &whittle.Error{Code: whittle.Invalid, Message: "the request cannot be read", Err: err}
}
