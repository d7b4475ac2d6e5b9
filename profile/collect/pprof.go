package collect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/profile"
)

// maxProfile bounds what a target may send: gzipped, of one profile.
const maxProfile = 32 << 20

// pprofPages are net/http/pprof's pages by kind.
var pprofPages = map[profile.Kind]string{
	profile.CPU: "profile", profile.Allocations: "allocs", profile.Mutex: "mutex",
}

// pprofSource is a Go service with net/http/pprof, or what has the same pages.
type pprofSource struct {
	base string // up to and with /debug/pprof
	name string
	// all says that its index lists the other kinds than CPU.
	all bool
}

// openPprof finds the pprof pages at a URL, or below it.
func openPprof(ctx context.Context, u *url.URL) (Source, error) {
	path, _, _ := strings.Cut(u.Path, "/debug/pprof")
	s := &pprofSource{base: u.Scheme + "://" + u.Host + strings.TrimSuffix(path, "/") + "/debug/pprof", name: u.Host}
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	index, indexErr := s.get(ctx, "/")
	s.all = indexErr == nil && bytes.Contains(index, []byte("allocs")) && bytes.Contains(index, []byte("mutex"))
	line, err := s.get(ctx, "/cmdline")
	if err != nil && s.all && bytes.Contains(index, []byte("goroutine?debug=")) {
		return s, nil // its index says what it is: some give only that and the profile a path
	}
	if page := bytes.TrimSpace(line); err == nil && len(page) > 0 && (page[0] == '<' || json.Valid(page)) { // which no program's name is
		err = fmt.Errorf("%s/cmdline is a page of something else: %s", s.base, firstLine(page))
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "profile %s: no pprof there, nor Node's inspector: %w", u, err).
			WithHint("a Go service shows it by importing net/http/pprof, on a port of its own; a Node process by --inspect, or give its process id")
	}
	return s, nil
}

func (s *pprofSource) Kinds() []profile.Kind {
	return []profile.Kind{profile.CPU, profile.Allocations, profile.Mutex}
}

func (s *pprofSource) Address() string { return s.base }

func (s *pprofSource) Close(context.Context) error { return nil }

// Take asks for whole seconds, which is what net/http/pprof knows.
func (s *pprofSource) Take(ctx context.Context, kind profile.Kind, d time.Duration) (*Collected, error) {
	if !slices.Contains(s.Kinds(), kind) {
		return nil, whittle.Errorf(whittle.Unsupported, "take profile: a Go service has no %q", kind)
	}
	seconds := max(int64(d.Round(time.Second)/time.Second), 1)
	page := fmt.Sprintf("/%s?seconds=%d", pprofPages[kind], seconds)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+responseTimeout)
	defer cancel()
	began := time.Now()
	b, err := s.get(ctx, page)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "take %s profile of %s: %w", kind, s.name, err)
	}
	p, err := profile.ReadPprof(b, kind)
	if err != nil {
		return nil, err
	}
	p.Began = began
	p.Duration = cmp.Or(p.Duration, time.Duration(seconds)*time.Second)
	p.Service = cmp.Or(p.Service, s.name)
	return &Collected{Profile: p, Raw: b, Ext: ".pb.gz"}, nil
}

func (s *pprofSource) get(ctx context.Context, page string) ([]byte, error) {
	return get(ctx, s.base+page, maxProfile)
}

// get gives the body of a page, whole.
func get(ctx context.Context, url string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %s: %s", resp.Status, firstLine(b))
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("more than %d bytes", limit)
	}
	return b, nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(string(b[:min(len(b), 200)]), "\n")
	return line
}
