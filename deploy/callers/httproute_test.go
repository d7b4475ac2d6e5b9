package callers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apiserver "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	"k8s.io/client-go/rest"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

const httpRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: shop}]
  rules:
    - matches: [{path: {type: PathPrefix, value: /items}}]
      backendRefs: [{name: monolith, port: 3000}, {name: candidate, port: 3001, weight: 0}]
    - backendRefs: [{name: monolith, port: 3000}]
`

// kubernetes is a real API server with the Gateway API's own definition of an HTTPRoute, and
// no authorization. ask fails the test unless it answers 2xx.
type kubernetes struct {
	t      *testing.T
	server string
	token  string
	ca     string // a file
	client *http.Client
}

func startKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	dir := t.TempDir()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = filepath.Join(dir, "etcd"), "fatal", true
	any := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.ListenPeerUrls = []url.URL{any}, []url.URL{any}
	etcd, err := embed.StartEtcd(cfg)
	fatal(t, err)
	t.Cleanup(etcd.Close)
	<-etcd.Server.ReadyNotify()
	nobody := filepath.Join(dir, "kubeconfig") // whom it would ask about callers, if they had no token of its own
	fatal(t, os.WriteFile(nobody, []byte(`{apiVersion: v1, kind: Config, clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}],
users: [{name: none}], contexts: [{name: none, context: {cluster: none, user: none}}], current-context: none}`), 0o600))
	s := apiserver.StartTestServerOrDie(t, nil, []string{
		"--etcd-servers", "http://" + etcd.Clients[0].Addr().String(), "--etcd-prefix", "whittle", "--authentication-skip-lookup",
		"--authentication-kubeconfig", nobody, "--authorization-kubeconfig", nobody, "--kubeconfig", nobody,
		"--enable-priority-and-fairness=false",
		"--disable-admission-plugins", "NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy",
	}, nil)
	t.Cleanup(s.TearDownFn)
	client, err := rest.HTTPClientFor(s.ClientConfig)
	fatal(t, err)
	k := &kubernetes{t: t, server: s.ClientConfig.Host, token: filepath.Join(dir, "token"), ca: filepath.Join(s.TmpDir, "apiserver.crt"), client: client}
	fatal(t, os.WriteFile(k.token, []byte(s.ClientConfig.BearerToken), 0o600))
	where, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	fatal(t, err)
	definition, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(where)), "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"))
	fatal(t, err)
	k.until("the HTTPRoute is defined", func() bool {
		status, _ := k.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", string(definition))
		return status == http.StatusCreated
	})
	k.until("the HTTPRoute is created", func() bool {
		status, _ := k.ask("POST", routes, httpRoute)
		return status == http.StatusCreated
	})
	return k
}

const routes = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes"

func (k *kubernetes) ask(method, path, text string) (status int, body []byte) {
	k.t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	fatal(k.t, err)
	req, err := http.NewRequestWithContext(k.t.Context(), method, k.server+path, bytes.NewReader(b))
	fatal(k.t, err)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := k.client.Do(req)
	fatal(k.t, err)
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	fatal(k.t, err)
	return resp.StatusCode, body
}

func (k *kubernetes) must(method, path, text string) []byte {
	k.t.Helper()
	status, body := k.ask(method, path, text)
	if status/100 != 2 {
		k.t.Fatalf("%s %s: %d %s", method, path, status, body)
	}
	return body
}

func (k *kubernetes) until(what string, is func() bool) {
	k.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatalf("not in time: %s", what)
		}
	}
}

func (k *kubernetes) route() (o gateway.HTTPRoute) {
	k.t.Helper()
	fatal(k.t, json.Unmarshal(k.must("GET", routes+"/shop", ""), &o))
	return o
}

// accept is what a Gateway's controller does once it has taken up the route as it is.
func (k *kubernetes) accept() {
	k.t.Helper()
	k.must("PATCH", routes+"/shop/status", fmt.Sprintf(`{status: {parents: [{controllerName: example.com/gateway, parentRef: {name: shop}, conditions: [
{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: %d}]}]}}`, k.route().Generation))
}

func (k *kubernetes) weights() string {
	k.t.Helper()
	var at []string
	for _, ref := range k.route().Spec.Rules[0].BackendRefs {
		weight := "none"
		if ref.Weight != nil {
			weight = fmt.Sprint(*ref.Weight)
		}
		at = append(at, fmt.Sprintf("%s %s", ref.Name, weight))
	}
	return strings.Join(at, ", ")
}

// TestHTTPRoute: a rise is in force once the Gateway accepts the weights, a rollback sets them at
// once, and a rule of another path keeps its own.
func TestHTTPRoute(t *testing.T) {
	k := startKubernetes(t)
	_, admin := start(t, fmt.Sprintf(`    steer:
      every: 1s
      httproute: {namespace: shop, name: shop, candidate: candidate, monolith: monolith, server: %q, token_file: %s, ca_file: %s}
`, k.server, k.token, k.ca))
	type state struct {
		Percent float64 `json:"share_percent"`
		Steer   struct {
			UnderWay string `json:"under_way"`
			Wait     string
		}
	}
	ask := func(method, order, body string) (s state, err error) {
		url := "http://" + admin + "/api/v1/routes/" + items + order
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			return s, err
		}
		req.Header.Set("Authorization", "Bearer "+operator)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return s, err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: %d %s", method, url, resp.StatusCode, b)
		}
		if err != nil {
			return s, err
		}
		return s, json.Unmarshal(b, &s)
	}
	steered := func() (percent float64, underWay, wait string) {
		t.Helper()
		s, err := ask(http.MethodGet, "", "")
		fatal(t, err)
		return s.Percent, s.Steer.UnderWay, s.Steer.Wait
	}
	confirmed := func(want float64) func() bool {
		return func() bool {
			percent, underWay, wait := steered()
			return percent == want && underWay == "" && wait == ""
		}
	}
	// Whatever is there, a share of 0 is set at the start.
	k.until("the weights are set at the start", func() bool { return k.weights() == "monolith 10000, candidate 0" })
	k.accept()
	k.until("the share at the start is confirmed", confirmed(0))
	ordered := make(chan error, 1)
	go func() { // it responds once the Gateway has accepted
		_, err := ask(http.MethodPost, "/promote", `{"force": true, "reason": "to see the weights"}`)
		ordered <- err
	}()
	k.until("the weights are set", func() bool { return k.weights() == "monolith 9900, candidate 100" })
	if percent, underWay, _ := steered(); percent != 0 || underWay != "rise to 1 %" {
		t.Errorf("before the Gateway accepts: %v %%, %q", percent, underWay)
	}
	k.accept()
	k.until("the rise is in force", confirmed(1))
	if err := <-ordered; err != nil {
		t.Error(err)
	}
	if _, err := ask(http.MethodPost, "/rollback", `{"reason": "to see them taken back"}`); err != nil {
		t.Error(err)
	}
	k.until("the weights are taken back", func() bool { return k.weights() == "monolith 10000, candidate 0" })
	k.accept()
	k.until("the rollback is in force", confirmed(0))
	if refs := k.route().Spec.Rules[1].BackendRefs; len(refs) != 1 || *refs[0].Weight != 1 {
		t.Errorf("the other rule has %+v", refs)
	}
}
