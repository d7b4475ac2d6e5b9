package api

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"whittle"
)

const (
	// writeWithin bounds the wait for a client to take a piece of a picture.
	writeWithin = 30 * time.Second
	// freshFor is how long a client may keep a picture without asking.
	freshFor = time.Hour
)

func (a *API) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range []struct {
		method, route string
		patterns      []string
		handler       handler
	}{
		{http.MethodPost, "/emojify/", []string{"/emojify/{$}", "/emojify"}, a.submit},
		{http.MethodGet, "/emojify/{id}", []string{"/emojify/{id}"}, a.status},
		{http.MethodGet, "/cache/{id}", []string{"/cache/{id}"}, a.picture},
		{http.MethodGet, "/health", []string{"/health"}, a.healthy},
	} {
		h := a.metrics.watched(r.method, r.route, a.handled(r.handler))
		for _, p := range r.patterns {
			mux.Handle(r.method+" "+p, h)
		}
	}
	return mux
}

// idIn reads the request's id: 64 lower-case hexadecimal digits.
func idIn(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return "", whittle.Errorf(whittle.NotFound, "there is no such picture").WithHint("an id is 64 lower-case hexadecimal digits")
	}
	return id, nil
}

// status is GET /emojify/{id}.
func (a *API) status(w http.ResponseWriter, r *http.Request) error {
	id, err := idIn(r)
	if err != nil {
		return err
	}
	p, known := a.jobs.find(id)
	if !known {
		there, err := a.pictures.exists(r.Context(), id)
		if err != nil {
			return err
		}
		if !there {
			return whittle.Errorf(whittle.NotFound, "there is no such picture").WithHint("it was never sent, or the cache no longer has it")
		}
		p = a.jobs.done(id)
	}
	writeJSON(w, http.StatusOK, p)
	return nil
}

// picture is GET /cache/{id}. A response whose rest does not come is broken off,
// so that nobody takes it for whole.
func (a *API) picture(w http.ResponseWriter, r *http.Request) error {
	id, err := idIn(r)
	if err != nil {
		return err
	}
	found, err := a.pictures.open(r.Context(), id)
	if err != nil {
		return err
	}
	defer found.close()
	first, err := found.piece()
	if err != nil {
		return err
	}
	describe(w.Header(), found, first)
	if since, err := http.ParseTime(r.Header.Get("If-Modified-Since")); err == nil && !found.modified.Truncate(time.Second).After(since) {
		w.Header().Del("Content-Length")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if err := a.copy(w, found, first); err != nil {
		a.log.Debug("picture response aborted", "id", id, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

func describe(h http.Header, p *picture, first []byte) {
	h.Set("Content-Type", http.DetectContentType(first))
	h.Set("Content-Length", strconv.FormatInt(p.size, 10))
	h.Set("Last-Modified", p.modified.UTC().Format(http.TimeFormat))
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(freshFor.Seconds())))
	// What an untrusted server sent is shown as a picture or not at all.
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
}

func (a *API) copy(w http.ResponseWriter, p *picture, b []byte) error {
	deadlines := http.NewResponseController(w)
	for rest := p.size; ; {
		// Not every connection has deadlines; those of a server do.
		_ = deadlines.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := w.Write(b); err != nil {
			return err
		}
		rest -= int64(len(b))
		var err error
		if b, err = p.piece(); errors.Is(err, io.EOF) && rest == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
