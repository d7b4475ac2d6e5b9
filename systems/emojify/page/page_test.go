package page

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(method, path string, header http.Header) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestFiles(t *testing.T) {
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/page.js": "text/javascript; charset=utf-8",
		"/page.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml",
	} {
		a := get(http.MethodGet, path, nil)
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != kind || a.ContentLength < 100 {
			t.Errorf("%s: %d, %v", path, a.StatusCode, a.Header)
		}
		if p := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none';") || strings.Contains(p, "unsafe") || strings.Contains(p, "http") {
			t.Errorf("%s: policy %q", path, p)
		}
		if again := get(http.MethodGet, path, http.Header{"If-None-Match": {a.Header.Get("ETag")}}); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s is sent again: %d", path, again.StatusCode)
		}
	}
	for method, path := range map[string]string{http.MethodGet: "/page.go", http.MethodHead: "/index.html", http.MethodPost: "/"} {
		if a := get(method, path, nil); a.StatusCode != http.StatusNotFound && a.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %d", method, path, a.StatusCode)
		}
	}
}

// The policy would stop it; here it is seen before a browser is at hand.
func TestNothingComesFromElsewhere(t *testing.T) {
	elsewhere := regexp.MustCompile(`(?i)(src|href|url|import|@import)\s*[=(]?\s*["']?\s*(https?:)?//`)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|<style|\son[a-z]+\s*=|\sstyle\s*=`)
	for path, f := range paths {
		if m := elsewhere.Find(f.content); m != nil {
			t.Errorf("%s: %q", path, m)
		}
		if m := inline.Find(f.content); m != nil && path == "/" {
			t.Errorf("%s: %q is inline", path, m)
		}
	}
}
