package facebox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

	"whittle"
)

// maxURL bounds a URL that is sent, in bytes.
const maxURL = 2048

// source is where a request says that its picture is: one of the three.
type source struct {
	file   []byte
	URL    string `json:"url"`
	Base64 string `json:"base64"`
}

// sent returns the picture of a request, fetched if need be.
func (s *Service) sent(ctx context.Context, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	// Base64 has four characters for three bytes; the rest is what stands around.
	r.Body = http.MaxBytesReader(w, r.Body, s.o.Limits.Bytes/3*4+64<<10)
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "the request has no content type that can be read")
	}
	var from source
	switch kind {
	case "multipart/form-data":
		from, err = s.parts(multipart.NewReader(r.Body, params["boundary"]))
	case "application/x-www-form-urlencoded":
		from, err = form(r.Body)
	case "application/json":
		err = json.NewDecoder(r.Body).Decode(&from)
	default:
		return nil, whittle.Errorf(whittle.Invalid, "a picture comes as multipart/form-data, a form or JSON, not as %.100q", kind)
	}
	if err != nil {
		return nil, unread(err)
	}
	return s.resolve(ctx, from)
}

func (s *Service) resolve(ctx context.Context, from source) ([]byte, error) {
	given := 0
	for _, is := range []bool{len(from.file) > 0, from.URL != "", from.Base64 != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, whittle.Errorf(whittle.Invalid, "one of file, url and base64 is needed")
	case len(from.file) > 0:
		return from.file, nil
	case from.Base64 != "":
		b, err := base64.StdEncoding.DecodeString(from.Base64)
		if err != nil {
			return nil, &whittle.Error{Code: whittle.Invalid, Message: "that is not base64", Err: err}
		}
		return b, nil
	case len(from.URL) > maxURL:
		return nil, whittle.Errorf(whittle.Invalid, "the url has more than %d bytes", maxURL)
	case s.o.Fetcher == nil:
		return nil, whittle.Errorf(whittle.Unsupported, "checks by url are switched off here")
	}
	return s.o.Fetcher.Fetch(ctx, from.URL)
}

// parts reads the parts that have a known name, each once, and skips others.
func (s *Service) parts(m *multipart.Reader) (source, error) {
	var from source
	for {
		p, err := m.NextPart()
		if err == io.EOF { //nolint:errorlint // wrapped, it is a body that was broken off
			return from, nil
		}
		if err != nil {
			return source{}, err
		}
		name := p.FormName()
		if name != "file" && name != "url" && name != "base64" {
			continue
		}
		b, err := io.ReadAll(p) // the body has a bound
		if err != nil {
			return source{}, err
		}
		switch {
		case name == "file" && from.file == nil:
			from.file = b
		case name == "url" && from.URL == "":
			from.URL = string(b)
		case name == "base64" && from.Base64 == "":
			from.Base64 = string(b)
		default:
			return source{}, whittle.Errorf(whittle.Invalid, "there is more than one %s", name)
		}
	}
}

func form(body io.Reader) (source, error) {
	b, err := io.ReadAll(body)
	if err != nil {
		return source{}, err
	}
	values, err := url.ParseQuery(string(b))
	if err != nil {
		return source{}, err
	}
	return source{URL: values.Get("url"), Base64: values.Get("base64")}, nil
}

// unread says why a body could not be read.
func unread(err error) error {
	if _, ok := errors.AsType[*whittle.Error](err); ok {
		return err
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return whittle.Errorf(whittle.ResourceExhausted, "the request has more than %d bytes", large.Limit)
	}
	return &whittle.Error{Code: whittle.Invalid, Message: "the request cannot be read", Err: err}
}
