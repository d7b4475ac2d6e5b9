// Package callers holds whittle to the own code of others: Argo Rollouts' web metric and Flagger's
// webhooks ask it, by the examples for them; it steers an HTTPRoute of a Kubernetes API server.
package callers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-rollouts/metricproviders/webmetric"
	argo "github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	flagger "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"
	"github.com/fluxcd/flagger/pkg/controller"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/yaml"
)

const (
	operator = "operator-token-0123456789"
	viewer   = "viewer-token-0123456789"
	key      = "hook-key-0123456789abcd"
	items    = "GET%20%2Fitems%2F%7Bid%7D" // as the examples have it
	odd      = "GET%20%2Fodd%2F%7Bid%7D"
	// patience bounds every wait; nothing is asserted about how much of it is used.
	patience = 4 * time.Minute
)

// fatal ends the test at an error.
func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// application responds with its path, or below /odd/ with something of its own.
func application(t *testing.T, own string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.URL.Path
		if strings.HasPrefix(text, "/odd/") {
			text += own
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"path": %q}`, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var listening = regexp.MustCompile(`listening public=(\S+) admin=(\S+)`)

// start runs whittle with a route for an equal candidate, which may have more, and one for another.
func start(t *testing.T, further string) (public, admin string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "whittle")
	build := exec.Command("go", "build", "-o", program, "./cmd/whittle")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	monolith, candidate := application(t, ""), application(t, " of the candidate")
	const route = "  - match: GET /%s/{id}\n    candidate: %s\n    compare: {min_compared: 50}\n    rollout: {auto: false}\n"
	for name, text := range map[string]string{
		"token": operator, "viewer": viewer, "key": key,
		"whittle.yaml": "listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0, token_file: token, viewer_token_file: viewer, hook_key_file: key}\nmonolith: " + monolith +
			"\nroutes:\n" + fmt.Sprintf(route, "items", candidate) + further + fmt.Sprintf(route, "odd", candidate),
	} {
		fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "run", "-c", filepath.Join(dir, "whittle.yaml"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() }) // it is killed
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return m[1], m[2]
		}
	}
	t.Fatal("whittle has ended")
	return "", ""
}

func example(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../examples", file))
	if err == nil {
		err = yaml.UnmarshalStrict(b, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// measured is what Argo Rollouts makes of a route's verdict.
func measured(t *testing.T, admin, route string) argo.AnalysisPhase {
	t.Helper()
	var a argo.AnalysisTemplate
	example(t, "argo-rollouts/analysis.yaml", &a)
	args := []string{"whittle-admin:8081", admin, items, route, "{{args.token}}", viewer}
	for _, arg := range a.Spec.Args {
		if arg.Value != nil {
			args = append(args, "{{args."+arg.Name+"}}", *arg.Value)
		}
	}
	with := strings.NewReplacer(args...)
	m := a.Spec.Metrics[0]
	m.Provider.Web.URL = with.Replace(with.Replace(m.Provider.Web.URL))
	for i := range m.Provider.Web.Headers {
		m.Provider.Web.Headers[i].Value = with.Replace(m.Provider.Web.Headers[i].Value)
	}
	client, err := webmetric.NewWebMetricHttpClient(m)
	fatal(t, err)
	path, err := webmetric.NewWebMetricJsonParser(m)
	fatal(t, err)
	got := webmetric.NewWebMetricProvider(*logrus.NewEntry(logrus.New()), client, path).Run(&argo.AnalysisRun{}, m)
	if got.Phase == argo.AnalysisPhaseError {
		t.Fatalf("%s: %s", m.Provider.Web.URL, got.Message)
	}
	return got.Phase
}

// allowed lists the types of Flagger's webhooks that are answered yes.
func allowed(t *testing.T, admin, route string) (types string) {
	t.Helper()
	var c flagger.Canary
	example(t, "flagger/canary.yaml", &c)
	for _, hook := range c.Spec.Analysis.Webhooks {
		hook.URL = strings.NewReplacer("whittle-admin:8081", admin, items, route, "key=KEY", "key="+key).Replace(hook.URL)
		if err := controller.CallWebhook(c, flagger.CanaryPhaseProgressing, hook); err == nil {
			types += string(hook.Type) + " "
		} else if !strings.Contains(err.Error(), "failed_precondition") {
			t.Errorf("%s: %v", hook.Name, err)
		}
	}
	return types
}

func TestCallers(t *testing.T) {
	public, admin := start(t, "")
	if phase, types := measured(t, admin, items), allowed(t, admin, items); phase != argo.AnalysisPhaseInconclusive || types != "" {
		t.Errorf("before anything is known: %s, %q", phase, types)
	}
	end := time.Now().Add(patience)
	for n := 0; measured(t, admin, items) != argo.AnalysisPhaseSuccessful || measured(t, admin, odd) != argo.AnalysisPhaseFailed; {
		if time.Now().After(end) {
			t.Fatalf("after %d requests: %s, %s", n, measured(t, admin, items), measured(t, admin, odd))
		}
		for range 50 {
			n++
			for _, path := range []string{"items", "odd"} {
				resp, err := http.Get(fmt.Sprintf("http://%s/%s/%d", public, path, n))
				fatal(t, err)
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
	}
	if types := allowed(t, admin, items); types != "confirm-traffic-increase confirm-promotion " {
		t.Errorf("of the equal one: %q", types)
	}
	if types := allowed(t, admin, odd); types != "rollback " {
		t.Errorf("of the other one: %q", types)
	}
}
