package replay

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
)

// shop responds with nested JSON in which an id and a time change by themselves,
// the order of the tags does not matter, and an unknown item is not there.
// Wrong, it rounds prices, finds everything, lets any cache keep it and any script
// read the cookie, and says of what was made that it is elsewhere.
func shop(wrong bool) http.Handler {
	var n atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
		var id int
		_, _ = fmt.Sscan(r.PathValue("id"), &id)
		if id%10 == 9 && !wrong {
			http.Error(w, "no such item", http.StatusNotFound)
			return
		}
		price, tags := float64(id)+0.5, `"a","b"`
		if wrong {
			price = float64(id)
		}
		if id%10 == 8 {
			ends := "Thu, 01-Jan-70 00:00:01 GMT"
			if wrong { // it is not removed
				ends = time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
			}
			w.Header().Add("Set-Cookie", "old=; Expires="+ends)
		}
		if n.Add(1)%2 == 0 {
			tags = `"b","a"`
		}
		if !wrong {
			w.Header().Set("Cache-Control", "private, max-age=5")
		}
		w.Header().Add("Set-Cookie", fmt.Sprintf("seen=%d%s", n.Load(), map[bool]string{false: "; HttpOnly"}[wrong]))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"trace":"%d","item":{"id":%d,"price":%g,"tags":[%s]},"at":[{"ms":%d}]}`, 1000+n.Load(), id, price, tags, n.Load())
	})
	mux.HandleFunc("POST /items", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer real" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Location", map[bool]string{true: "/item/7", false: "/items/7"}[wrong])
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "made")
	})
	return mux
}

// TestDifferencesBecomeTests makes tests of what a wrong service does, and runs
// them against it and against a right one.
func TestDifferencesBecomeTests(t *testing.T) {
	right, wrong := httptest.NewServer(shop(false)), httptest.NewServer(shop(true))
	defer right.Close()
	defer wrong.Close()
	dir := record(t, right.URL, "", 800, func(i int) whittle.Request {
		if i%8 == 0 {
			return whittle.Request{Method: "POST", Target: "/items", Header: whittle.Header{"Authorization": {"Bearer real"}}, Body: []byte(`{"name":"a"}`)}
		}
		return whittle.Request{Method: "GET", Target: fmt.Sprintf("/items/%d", i%40), Header: whittle.Header{}}
	})
	tests := filepath.Join(t.TempDir(), "regression")
	common := []string{dir, "--speed", "max", "--allow-writes", "--unordered", "$.item.tags", "--header", "Authorization: Bearer real"}
	status, r := replayed(t, append(common, "--against", wrong.URL, "--to-tests", tests)...)
	if status != 1 || r.Verdict != whittle.Different {
		t.Fatalf("status %d: %s", status, r.Summary)
	}
	holds(t, tests, right.URL, "")
	holds(t, tests, wrong.URL, "$.item.price is", "status 200, want 404", `header Set-Cookie is "seen", want "seen; httponly"`, `header Cache-Control is "missing", want "max-age=5, private"`, `header Location is "/item/7", want "/items/7"`)

	status, r = replayed(t, append(common, "--against", right.URL)...)
	if status != 0 || r.Differing != 0 {
		t.Errorf("the right service: status %d: %s", status, r.Summary)
	}

	// One for each input (the write, and 35 items: those whose number is a multiple
	// of 8 are never asked for), and a service of its own is called in the same
	// process.
	cover := filepath.Join(t.TempDir(), "service")
	if err := os.Mkdir(cover, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":     "module service\n\ngo 1.24\n",
		"service.go": "package service\n",
		"hook_test.go": `package service_test

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

func init() {
	to, _ := url.Parse("` + right.URL + `")
	handler = httputil.NewSingleHostReverseProxy(to)
	_ = http.DefaultClient
}
`,
	} {
		if err := os.WriteFile(filepath.Join(cover, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status, r = replayed(t, append(common, "--against", right.URL, "--to-tests", cover, "--cover")...)
	if status != 0 || r.Shapes.Recorded != 3 || r.Shapes.Met != 3 {
		t.Fatalf("status %d, shapes %+v", status, r.Shapes)
	}
	cases, err := filepath.Glob(filepath.Join(cover, "testdata", "replay", "*.json"))
	if err != nil || len(cases) != 36 || r.Inputs.Recorded != 36 || r.Inputs.Compared != 36 {
		t.Errorf("%d cases of the distinct inputs %+v, %v", len(cases), r.Inputs, err)
	}
	for _, name := range cases {
		if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), "Bearer") {
			t.Errorf("%s holds the credential that the replay was given, %v", name, err)
		}
	}
	holds(t, cover, "", "")
	holds(t, cover, wrong.URL, "$.item.price is", "status 200, want 404", `header Set-Cookie is "seen", want "seen; httponly"`, `header Cache-Control is "missing", want "max-age=5, private"`, `header Location is "/item/7", want "/items/7"`)
}

// holds runs the tests in dir: they pass, or fail with each of the words.
func holds(t *testing.T, dir, target string, words ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=all", "-count=1", "-v", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TARGET_URL="+target, "TARGET_HEADER=Authorization: Bearer real", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	pass := words[0] == ""
	if (err == nil) != pass || strings.Contains(string(out), "SKIP") || !strings.Contains(string(out), "TestReplay/001-") {
		t.Errorf("%s against %s: %v\n%.3000s", filepath.Base(dir), target, err, out)
	}
	for _, w := range words {
		if !strings.Contains(string(out), w) {
			t.Errorf("%s against %s does not say %q:\n%.3000s", filepath.Base(dir), target, w, out)
		}
	}
}
