package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"whittle/carve/dashboard"
	"whittle/carve/dashboard/dashboardtest"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

func get(t *testing.T, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	dashboard.Handler().ServeHTTP(w, r)
	res := w.Result()
	b, err := io.ReadAll(res.Body)
	fatal.If(t, err)
	return res, string(b)
}

var (
	address  = regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	imported = regexp.MustCompile(`(?m)(?:from|import) ?['"](\.[^'"]+)['"]`)
)

// TestEveryFileIsThere follows the page's addresses and every module's imports.
func TestEveryFileIsThere(t *testing.T) {
	res, html := get(t, "GET", "/")
	if res.StatusCode != 200 || res.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("GET / responds %d, Cache-Control %q", res.StatusCode, res.Header.Get("Cache-Control"))
	}
	if strings.Contains(html, "{{") || regexp.MustCompile(`(?i)<style|<script>|style=|\son[a-z]+=|https?:`).MatchString(html) {
		t.Errorf("the page has something inline, or of elsewhere:\n%s", html)
	}
	var todo []string
	for _, m := range address.FindAllStringSubmatch(html, -1) {
		todo = append(todo, "/"+m[1])
	}
	seen := map[string]bool{}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		res, body := get(t, "GET", at)
		fatal.Same(t, res.StatusCode, 200, "GET %s responds", at)
		if got := res.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: Cache-Control %q", at, got)
		}
		if strings.HasSuffix(at, ".js") {
			for _, m := range imported.FindAllStringSubmatch(body, -1) {
				todo = append(todo, path.Join(path.Dir(at), m[1]))
			}
		}
	}
	for _, pattern := range []string{"page/*.js", "page/css/*.css", "page/parts/*.js"} {
		files, err := filepath.Glob(pattern)
		fatal.If(t, err)
		for _, f := range files {
			found := false
			for at := range seen {
				found = found || strings.HasSuffix(at, strings.TrimPrefix(filepath.ToSlash(f), "page"))
			}
			if !found {
				t.Errorf("%s is not loaded by anything", f)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	res, html := get(t, "GET", "/")
	policy := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
	} {
		fatal.Has(t, policy, want)
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is unsafe: %s", policy)
	}
	script := "/" + regexp.MustCompile(`assets/[^"]+main\.js`).FindString(html)
	for _, at := range []string{"/", script} {
		res, _ := get(t, "HEAD", at)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			fatal.Same(t, res.Header.Get(name), want, "%s: %s", at, name)
		}
		again, body := get(t, "GET", at, "If-None-Match", res.Header.Get("ETag"))
		if again.StatusCode != 304 || body != "" {
			t.Errorf("%s: asked again it serves %d", at, again.StatusCode)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"POST", "/", 405}, {"GET", "/index.html", 404}, {"GET", "/assets/", 404}, {"GET", "/../dashboard.go", 404}, {"GET", "/nothing", 404}} {
		if res, _ := get(t, c.method, c.path); res.StatusCode != c.status {
			t.Errorf("%s %s responds %d, not %d", c.method, c.path, res.StatusCode, c.status)
		}
	}
}

// TestWhatNeedsNoBrowser runs the page's pure modules in Node.
func TestWhatNeedsNoBrowser(t *testing.T) {
	node := needs.Node(t)
	cmd := exec.CommandContext(t.Context(), node, "--test", "testdata/pure.test.mjs")
	cmd.Env = append(os.Environ(), "NODE_NO_WARNINGS=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLicences holds that what others wrote is embedded with its licence.
func TestLicences(t *testing.T) {
	for _, part := range []string{"htm", "preact", "uplot"} {
		b, err := os.ReadFile("page/parts/" + part + ".LICENSE")
		if err != nil || !regexp.MustCompile(`(?i)MIT|Apache License|Permission is hereby granted`).Match(b) {
			t.Errorf("%s has no licence: %v", part, err)
		}
	}
}

func TestMain(m *testing.M) { dashboardtest.Main(m) }
