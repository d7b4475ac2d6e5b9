package load

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"whittle"
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

// Each plan of the corpus sends what Artillery sent for it, or what docs/load.md
// says where that differs, or is refused with the reason before anything is sent.
// None runs and sends something else.
func TestTheCorpusIsSentAsArtillerySentIt(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	var same, noted, differing, refused int
	for _, file := range slices.Sorted(maps.Keys(files)) {
		name, ok := strings.CutSuffix(file, ".yml")
		if !ok {
			continue
		}
		want, runs := files[name+".sent"]
		own, differs := files[name+".differs"]
		if differs {
			want = own
		}
		got, notes, err := corpusRun(t, file, files)
		switch {
		case !runs:
			refused++
			if why := strings.TrimSpace(files[name+".refused"]); why == "" || err == nil || !strings.Contains(err.Error(), why) || got != "" {
				t.Errorf("%s: %v, and sent %s; want a refusal: %s", name, err, got, why)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case sorted(got) != sorted(want):
			t.Errorf("%s sent\n%swant, as Artillery sent or docs/load.md says\n%s", name, got, want)
		case !strings.Contains(notes, strings.TrimSpace(files[name+".note"])) || (notes == "") != (files[name+".note"] == ""):
			t.Errorf("%s notes %q, want %q", name, notes, files[name+".note"])
		case differs:
			differing++
		case notes != "":
			noted++
		default:
			same++
		}
	}
	docs, err := os.ReadFile("../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		fmt.Sprintf("%d plans, with the requests", same+noted+differing+refused),
		fmt.Sprintf("%d are sent the same, %d the same with a note in the report, %d otherwise as the paragraph above says, and %d are refused", same, noted, differing, refused),
	} {
		if !strings.Contains(string(docs), says) {
			t.Errorf("docs/load.md does not say: %s", says)
		}
	}
}

func corpusRun(t *testing.T, file string, files map[string]string) (sent, notes string, err error) {
	t.Helper()
	l := &sentLog{}
	srv := httptest.NewServer(l)
	defer srv.Close()
	p, err := Parse(file, []byte(strings.ReplaceAll(files[file], "TARGET", srv.URL)), plan.Source{Open: func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, whittle.Errorf(whittle.NotFound, "no file %s", name)
	}})
	if err != nil {
		return "", "", err
	}
	for i := range p.Phases { // as many users, without the waiting
		ph := &p.Phases[i]
		*ph = plan.Phase{Count: int(ph.Planned()), HasCount: true, Duration: time.Millisecond}
	}
	r := run(t, p, Options{MaxLate: time.Hour})
	if r.Failed > 0 {
		return "", "", fmt.Errorf("%d requests failed: %v", r.Failed, r.Errors)
	}
	return strings.Join(l.lines, ""), strings.Join(p.Notes, "\n"), nil
}

// sorted puts the requests in an order of their own: users run side by side.
func sorted(lines string) string {
	all := strings.SplitAfter(lines, "\n")
	slices.Sort(all)
	return strings.Join(all, "")
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
