package behind

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

const (
	viewer   = "viewer-token-0123456789"
	hookKey  = "hook-key-0123456789abcd"
	itemsURL = "GET%20%2Fitems%2F%7Bid%7D" // as the examples have it
	oddURL   = "GET%20%2Fodd%2F%7Bid%7D"
)

// analysis is what of Argo Rollouts' AnalysisTemplate counts here.
type analysis struct {
	Spec struct {
		Args    []struct{ Name, Value string }
		Metrics []struct {
			SuccessCondition string `yaml:"successCondition"`
			FailureCondition string `yaml:"failureCondition"`
			Provider         struct {
				Web struct {
					Method, URL string
					Headers     []struct{ Key, Value string }
					JSONPath    string `yaml:"jsonPath"`
				}
			}
		}
	}
}

// canary is what of Flagger's Canary counts here.
type canary struct {
	Spec struct {
		Analysis struct {
			Webhooks []struct{ Name, Type, URL string }
		}
	}
}

func decode(t *testing.T, folder, file string, into any) {
	t.Helper()
	fatal.If(t, yaml.Unmarshal([]byte(read(t, folder, file)), into))
}

// TestGate asks a running whittle as the examples of Argo Rollouts and Flagger say, before
// anything is known, of an equal candidate, and of one that is not.
func TestGate(t *testing.T) {
	monolith, candidate := newOrigin(t, "monolith"), newOrigin(t, "candidate")
	dir := t.TempDir()
	for name, secret := range map[string]string{"token": "operator-token-0123456789", "viewer": viewer, "key": hookKey} {
		fatal.Write(t, filepath.Join(dir, name), secret)
	}
	config := "listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0, token_file: token, viewer_token_file: viewer, hook_key_file: key}\nmonolith: http://" + monolith.address + "\nroutes:\n"
	for _, match := range []string{byCookie, byFlaw} {
		config += fmt.Sprintf("  - match: %s\n    candidate: http://%s\n"+
			"    compare: {min_compared: 50, headers: {except: [X-Side]}}\n    rollout: {auto: false, sticky_by: header:X-User}\n", match, candidate.address)
	}
	g := process.Start(t, gateway, "run", "-c", fatal.Write(t, filepath.Join(dir, "whittle.yaml"), config))

	asks(t, g, itemsURL, "UNDECIDED", "inconclusive", map[string]int{"confirm-traffic-increase": 409, "confirm-promotion": 409, "rollback": 409})
	users := &http.Transport{}
	defer users.CloseIdleConnections()
	n := 0
	process.Await(t, "a verdict of both", func() (bool, string) {
		for range 50 {
			n++
			for _, path := range []string{"/items/", "/odd/"} {
				call(t, users, http.MethodGet, fmt.Sprintf("http://%s%s%d", g.Public, path, n), "", "X-User", fmt.Sprintf("user-%d", n))
			}
		}
		equal, odd := verdictOf(t, users, g, itemsURL), verdictOf(t, users, g, oddURL)
		return equal == "EQUIVALENT" && odd == "DIFFERENT", equal + ", " + odd
	})
	asks(t, g, itemsURL, "EQUIVALENT", "success", map[string]int{"confirm-traffic-increase": 200, "confirm-promotion": 200, "rollback": 409})
	asks(t, g, oddURL, "DIFFERENT", "failure", map[string]int{"confirm-traffic-increase": 409, "confirm-promotion": 409, "rollback": 200})
}

func call(t *testing.T, by http.RoundTripper, method, url, body string, fields ...string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	fatal.If(t, err)
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := by.RoundTrip(req)
	fatal.If(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	fatal.If(t, err)
	return resp.StatusCode, string(b)
}

// verdictOf asks as Argo Rollouts does, and takes the value of the example's path.
func verdictOf(t *testing.T, by http.RoundTripper, g *process.Process, route string) string {
	t.Helper()
	var a analysis
	decode(t, "argo-rollouts", "analysis.yaml", &a)
	args := []string{"{{args.token}}", viewer}
	for _, arg := range a.Spec.Args {
		args = append(args, "{{args."+arg.Name+"}}", arg.Value)
	}
	web := a.Spec.Metrics[0].Provider.Web
	with := strings.NewReplacer(args...)
	url := strings.NewReplacer("whittle-admin:8081", g.Admin, itemsURL, route).Replace(with.Replace(web.URL))
	var fields []string
	for _, h := range web.Headers {
		fields = append(fields, h.Key, with.Replace(h.Value))
	}
	status, text := call(t, by, web.Method, url, "", fields...)
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %s", url, status, text)
	}
	for _, name := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(web.JSONPath, "{$."), "}"), ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	s, _ := value.(string)
	return s
}

var condition = regexp.MustCompile(`^result == "([A-Z]+)"$`)

// asks holds what the callers are told: Argo Rollouts the verdict, Flagger a status by type of
// webhook.
func asks(t *testing.T, g *process.Process, route, verdict, outcome string, hooks map[string]int) {
	t.Helper()
	by := &http.Transport{}
	defer by.CloseIdleConnections()
	var a analysis
	decode(t, "argo-rollouts", "analysis.yaml", &a)
	m := a.Spec.Metrics[0]
	got, came := verdictOf(t, by, g, route), "inconclusive"
	for name, text := range map[string]string{"success": m.SuccessCondition, "failure": m.FailureCondition} {
		if is := condition.FindStringSubmatch(text); is == nil {
			t.Fatalf("%q is no condition", text)
		} else if is[1] == got {
			came = name
		}
	}
	if got != verdict || came != outcome {
		t.Errorf("%s: Argo Rollouts gets %q, which is %s; want %q, %s", route, got, came, verdict, outcome)
	}
	var c canary
	decode(t, "flagger", "canary.yaml", &c)
	if len(c.Spec.Analysis.Webhooks) != len(hooks) {
		t.Fatalf("%d webhooks", len(c.Spec.Analysis.Webhooks))
	}
	for _, hook := range c.Spec.Analysis.Webhooks {
		url := strings.NewReplacer("whittle-admin:8081", g.Admin, itemsURL, route, "key=KEY", "key="+hookKey).Replace(hook.URL)
		// As Flagger's controller does it: POST, JSON, no Authorization.
		status, text := call(t, by, http.MethodPost, url, `{"name":"items","namespace":"shop","phase":"Progressing","checksum":"85d557f47b"}`, "Content-Type", "application/json")
		fatal.Same(t, status, hooks[hook.Type], "%s: %s, of which the text is %s", route, hook.Type, text)
		t.Logf("%s: %s: %d %s", route, hook.Type, status, text)
	}
}
