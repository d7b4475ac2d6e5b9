package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"whittle"
)

// uploadWithin bounds the time that a picture may take to arrive.
const uploadWithin = 30 * time.Second

// submit is POST /emojify/, with a picture as the body.
func (a *API) submit(w http.ResponseWriter, r *http.Request) error {
	one, err := a.read(w, r)
	if err != nil {
		return err
	}
	p, used, err := a.enter(r, one)
	if !used {
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

// read reads a picture, while there is room for it.
func (a *API) read(w http.ResponseWriter, r *http.Request) (*job, error) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); !strings.HasPrefix(media, "image/") { // empty where it cannot be read
		return nil, &whittle.Error{
			Code: whittle.Unsupported, Message: "the body must be a picture, and Content-Type say so: image/…",
			Err: &httpError{http.StatusUnsupportedMediaType},
		}
	}
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

func idOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (a *API) readPicture(r *http.Request) ([]byte, error) {
	picture, err := io.ReadAll(r.Body) // bounded by read
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
