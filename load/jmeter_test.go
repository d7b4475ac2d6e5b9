package load

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/plan"
	"whittle/load/report"
)

// asked counts what a server was asked, in words.
type asked struct {
	*httptest.Server
	mu sync.Mutex
	// The following is guarded by mu.
	seen  map[string]int
	order []string
}

func newAsked(t *testing.T, response http.HandlerFunc) *asked {
	t.Helper()
	a := &asked{seen: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		line := r.Method + " " + r.RequestURI
		if ct := r.Header.Get("Content-Type"); ct != "" {
			line += " " + ct
		}
		if c := r.Header.Get("Cookie"); c != "" {
			line += " [" + c + "]"
		}
		if len(b) > 0 {
			line += " " + string(b)
		}
		a.mu.Lock()
		a.seen[line]++
		a.order = append(a.order, line)
		a.mu.Unlock()
		if response != nil {
			response(w, r)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *asked) want(t *testing.T, want map[string]int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for line, n := range want {
		if a.seen[line] != n {
			t.Errorf("%d × %s, want %d", a.seen[line], line, n)
		}
	}
	if len(a.seen) != len(want) {
		t.Errorf("asked %v, want %v", a.seen, want)
	}
}

// jmx wraps thread groups into a test plan.
func jmx(inner string) string {
	return `<jmeterTestPlan version="1.2"><hashTree><TestPlan testname="P"/><hashTree>` + inner + `</hashTree></hashTree></jmeterTestPlan>`
}

// threads is a thread group of so many users and loops.
func threads(users, loops int, inner string) string {
	return fmt.Sprintf(`<ThreadGroup testname="G"><elementProp name="ThreadGroup.main_controller" elementType="LoopController"><stringProp name="LoopController.loops">%d</stringProp></elementProp><stringProp name="ThreadGroup.num_threads">%d</stringProp></ThreadGroup><hashTree>%s</hashTree>`, loops, users, inner)
}

// get is a sampler of a path, with what is below it.
func get(path, below string) string {
	return `<HTTPSamplerProxy testname="` + path + `"><stringProp name="HTTPSampler.path">` + path + `</stringProp></HTTPSamplerProxy><hashTree>` + below + `</hashTree>`
}

func readJMX(t testing.TB, src string, files map[string]string) (*plan.Plan, error) {
	t.Helper()
	return Parse("p.jmx", []byte(src), plan.Source{Open: func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, whittle.Errorf(whittle.NotFound, "no file %s", name)
		}
		return []byte(text), nil
	}, Properties: map[string]string{"set": "7"}})
}

func runJMX(t testing.TB, src string, files map[string]string, o Options) *report.Report {
	t.Helper()
	p, err := readJMX(t, src, files)
	fatal.If(t, err)
	o.MaxLate = time.Minute
	return run(t, p, o)
}

// The ingestion seed's test: the same plan with 1, 50, 500 and 1000 users, who
// come over a tenth as many seconds. The ramp is a hundredth of that here.
func TestTheIngestionPlanRunsWithAnyNumberOfUsers(t *testing.T) {
	t.Parallel()
	srv := newAsked(t, nil)
	src, err := os.ReadFile("testdata/jmx/ingest.jmx")
	fatal.If(t, err)
	for _, users := range []int{1, 50, 500, 1000} {
		p, err := Parse("ingest.jmx", src, plan.Source{Properties: map[string]string{"users": fmt.Sprint(users), "ramp": fmt.Sprint(users / 10), "loops": "2"}})
		fatal.If(t, err)
		if g := p.Groups[0]; g.Users != users || g.Ramp != time.Duration(users/10)*time.Second || g.Loops != 2 {
			t.Errorf("%d users: %+v", users, g.Closed)
		}
		quick, err := p.WithUsers(plan.Closed{Users: users, Ramp: time.Duration(users) * time.Millisecond})
		fatal.If(t, err)
		r := run(t, quick, Options{Target: srv.URL, MaxLate: time.Minute})
		if want := int64(2 * users); r.Completed != want || r.Failed != 0 || r.Users.Started != int64(users) {
			t.Errorf("%d users: %d completed, want %d; %v", users, r.Completed, want, r.Errors)
		}
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for line := range srv.seen {
		if !strings.HasPrefix(line, `POST /import application/json {"type":"track",`) {
			t.Errorf("asked %s", line)
		}
	}
}
