package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle"
)

const (
	// maxURL bounds a picture's URL, in bytes.
	maxURL = 2048
	// uploadWithin bounds the time that a picture may take to arrive.
	uploadWithin = 30 * time.Second
)

// submit is POST /emojify/: a URL as the body, or a picture.
func (a *API) submit(w http.ResponseWriter, r *http.Request) error {
	one, err := a.read(w, r)
	if err != nil {
		return err
	}
	p, used, err := a.enter(r, one)
	if !used && one.release != nil {
		one.release()
	}
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if p.Status == finished {
		status = http.StatusOK
	}
	w.Header().Set("Location", "/emojify/"+p.ID)
	writeJSON(w, status, p)
	return nil
}

// enter queues a job unless its picture is known; used says that it did.
func (a *API) enter(r *http.Request, one *job) (p progress, used bool, err error) {
	if p, ok := a.jobs.active(one.id); ok {
		return p, false, nil
	}
	there, err := a.pictures.exists(r.Context(), one.id)
	if err != nil {
		return progress{}, false, err
	}
	if there {
		return a.jobs.done(one.id), false, nil
	}
	p, joined, err := a.jobs.add(one)
	return p, err == nil && !joined, err
}

func (a *API) read(w http.ResponseWriter, r *http.Request) (*job, error) {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // empty where it cannot be read
	switch {
	case strings.HasPrefix(media, "image/"):
		return a.upload(w, r)
	case media == "" || media == "text/plain" || media == "application/x-www-form-urlencoded": // the last is what curl -d says
		return readURL(w, r)
	}
	return nil, unsupported()
}

func unsupported() error {
	return &whittle.Error{
		Code: whittle.Unsupported, Message: "the body must be a URL as text/plain, or a picture as image/…",
		Err: &httpError{http.StatusUnsupportedMediaType},
	}
}

func readURL(w http.ResponseWriter, r *http.Request) (*job, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxURL+16)) // and white space around it
	if err != nil {
		return nil, unreadable(err)
	}
	text := strings.TrimSpace(string(body))
	if err := checkURL(text); err != nil {
		return nil, err
	}
	return &job{id: idOf([]byte(text)), url: text}, nil
}

// checkURL refuses at once what the fetcher never takes; whether an address is
// allowed it finds out when it goes there.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return whittle.Errorf(whittle.Invalid, "the body is empty").WithHint("send a picture's URL")
	case len(text) > maxURL:
		return whittle.Errorf(whittle.Invalid, "the URL is longer than %d bytes", maxURL)
	case err != nil || u.Host == "" || u.Opaque != "":
		return whittle.Errorf(whittle.Invalid, "the body is not a URL").WithHint("send one such as https://example.com/faces.jpg")
	case u.Scheme != "http" && u.Scheme != "https":
		return whittle.Errorf(whittle.Invalid, "the URL must begin with http:// or https://")
	case u.User != nil:
		return whittle.Errorf(whittle.Invalid, "the URL must not have a user's name or password in it")
	}
	return nil
}

func idOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// upload reads a picture that is sent, while there is room for it.
func (a *API) upload(w http.ResponseWriter, r *http.Request) (*job, error) {
	if r.ContentLength > a.o.MaxUpload {
		return nil, tooLarge()
	}
	// Not every connection has deadlines; those of a server do.
	_ = http.NewResponseController(w).SetReadDeadline(a.o.now().Add(uploadWithin))
	r.Body = http.MaxBytesReader(w, r.Body, a.o.MaxUpload)
	room := r.ContentLength
	if room < 0 {
		room = a.o.MaxUpload
	}
	if !a.uploads.TryAcquire(room) {
		return nil, busy("too many pictures are being sent")
	}
	release := func() { a.uploads.Release(room) }
	picture, err := a.readPicture(r)
	if err != nil {
		release()
		return nil, err
	}
	return &job{id: idOf(picture), picture: picture, release: release}, nil
}

func (a *API) readPicture(r *http.Request) ([]byte, error) {
	picture, err := io.ReadAll(r.Body) // bounded by upload
	if err != nil {
		return nil, unreadable(err)
	}
	if !strings.HasPrefix(http.DetectContentType(picture), "image/") {
		return nil, whittle.Errorf(whittle.Invalid, "what was sent is not a picture")
	}
	return picture, nil
}

func tooLarge() error {
	return &whittle.Error{Code: whittle.ResourceExhausted, Message: "the body is too large", Err: &httpError{http.StatusRequestEntityTooLarge}}
}

// unreadable says why a body could not be read to its end.
func unreadable(err error) error {
	if _, ok := errors.AsType[*whittle.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge()
	}
	return &whittle.Error{Code: whittle.Invalid, Message: "the body could not be read", Err: err}
}
