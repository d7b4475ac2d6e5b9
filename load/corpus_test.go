package load

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/load/plan"
)

// sentLog is a server that writes requests down as the corpus does.
type sentLog struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (l *sentLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	headers := map[string]string{}
	for name, values := range r.Header {
		if name == "Accept" && strings.Join(values, "") == "*/*" {
			continue // the same as none: RFC 9110, 12.5.1
		}
		if !slices.Contains([]string{"Connection", "Content-Length", "Accept-Encoding", "User-Agent"}, name) {
			headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	line := r.Method + " " + r.RequestURI + " " + asJSON(headers) + " " + asJSON(string(body)) + "\n"
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"token":"t","data":{"id":5}}`)
}

// asJSON writes what JavaScript's JSON.stringify does.
func asJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// The two plans that came with the seed's services, word for word, run as they
// are: the second has a header where Artillery reads none, and its requests get
// that header from their JSON bodies.
func TestTheSeedsPlansRunAsTheyAre(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct{ base, want, note string }{
		"baseAppLoadTest.yml":       {"", `POST /Count {"content-type":"application/json"} "{\"times\":10000000}"`, ""},
		"carvedServiceLoadTest.yml": {"/twirp/twirp.carved.Carved", `POST /twirp/twirp.carved.Carved/Count {"content-type":"application/json"} "{\"times\":10000000}"`, "config.defaults, which is a list, is left out, as Artillery leaves it out"},
	} {
		p, err := Read("testdata/plans/seed/"+file, plan.Source{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if p.Planned() != 200 || plan.TotalLength(p.Phases) != 10*time.Second {
			t.Errorf("%s: %d users in %v", file, p.Planned(), plan.TotalLength(p.Phases))
		}
		l := &sentLog{}
		srv := httptest.NewServer(l)
		r := run(t, p.WithPhases(plan.Phase{Count: 20, HasCount: true, Duration: 50 * time.Millisecond}), Options{Target: srv.URL + c.base, MaxLate: time.Hour})
		srv.Close()
		if r.Failed != 0 || strings.Join(l.lines, "") != strings.Repeat(c.want+"\n", 20) {
			t.Errorf("%s: %d failed; sent %s", file, r.Failed, l.lines)
		}
		if notes := strings.Join(r.Warnings, "\n"); (c.note == "") != !strings.Contains(notes, "left out") || !strings.Contains(notes, c.note) {
			t.Errorf("%s warns %q", file, notes)
		}
	}
}
