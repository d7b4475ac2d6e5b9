// Package check holds what deploys whittle to what takes it: the chart, rendered by Helm's
// engine, and the plain manifests are decoded strictly as Kubernetes' types, Compose files
// and Dockerfiles are read by their own projects' readers, alert rules by promtool. Nothing
// is run in a container here.
package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// fatal ends the test at an error.
func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rendered gives the manifests of a release.
func rendered(t *testing.T, values string) ([]any, error) {
	t.Helper()
	chart, err := loader.Load("../helm/whittle")
	fatal(t, err)
	var given map[string]any
	fatal(t, yaml.Unmarshal([]byte(values), &given))
	all, err := util.ToRenderValues(chart, given, common.ReleaseOptions{Name: "shop", Namespace: "shop", IsInstall: true}, common.DefaultCapabilities)
	fatal(t, err)
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	var out []any
	for _, text := range files {
		out = append(out, decoded(t, text)...)
	}
	return out, nil
}

// decoded reads manifests strictly: a field that their kind does not have is an error.
func decoded(t *testing.T, text string) (out []any) {
	t.Helper()
	for doc := range strings.SplitSeq(text, "\n---") {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if head.Kind == "" {
			continue
		}
		kinds := map[string]any{
			"apps/v1/Deployment": &apps.Deployment{}, "v1/ConfigMap": &core.ConfigMap{}, "v1/Service": &core.Service{},
			"v1/PersistentVolumeClaim": &core.PersistentVolumeClaim{}, "policy/v1/PodDisruptionBudget": &policy.PodDisruptionBudget{},
			"networking.k8s.io/v1/NetworkPolicy": &networking.NetworkPolicy{}, "monitoring.coreos.com/v1/ServiceMonitor": &monitoring.ServiceMonitor{},
			"gateway.networking.k8s.io/v1/HTTPRoute": &gateway.HTTPRoute{},
		}
		into := kinds[head.APIVersion+"/"+head.Kind]
		if into == nil {
			t.Fatalf("%s/%s is no kind that is expected", head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
			t.Fatalf("%s: %v\n%s", head.Kind, err, doc)
		}
		out = append(out, into)
	}
	return out
}

// the gives the manifest of a kind with a name.
func the[T any](t *testing.T, all []any, is func(*T) bool) *T {
	t.Helper()
	for _, m := range all {
		if x, ok := m.(*T); ok && is(x) {
			return x
		}
	}
	t.Fatalf("there is no such %T", *new(T))
	return nil
}

// configHas holds that the chart's config has these lines.
func configHas(t *testing.T, all []any, lines ...string) {
	t.Helper()
	config := the(t, all, func(c *core.ConfigMap) bool { return c.Name == "shop" }).Data["whittle.yaml"]
	for _, line := range lines {
		if !strings.Contains(config, line) {
			t.Errorf("the config has no %s:\n%s", line, config)
		}
	}
}

func kindsOf(all []any) (names []string) {
	for _, m := range all {
		_, kind, _ := strings.Cut(fmt.Sprintf("%T", m), ".") // *v1.Service
		names = append(names, kind+" "+m.(interface{ GetName() string }).GetName())
	}
	slices.Sort(names)
	return names
}

// hardened holds what every whittle container has.
func hardened(t *testing.T, c core.Container, pod core.PodSpec) {
	t.Helper()
	s := c.SecurityContext
	if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
		s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
		t.Errorf("the container's security context is %+v", s)
	}
	p := pod.SecurityContext
	if p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.SeccompProfile == nil || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault || p.FSGroup == nil {
		t.Errorf("the pod's security context is %+v", p)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("the pod is given a token for the API server")
	}
	if c.ReadinessProbe == nil || c.LivenessProbe == nil || c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Error("a probe or the resources are missing")
	}
	if pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds < 35 {
		t.Error("requests under way have 30 s (limits.grace), and the pod less")
	}
	for _, m := range c.VolumeMounts {
		if m.SubPath != "" {
			t.Errorf("%s is mounted by a subPath, which follows no change of its ConfigMap", m.MountPath)
		}
	}
}

func TestTheChartAsItIs(t *testing.T) {
	all, err := rendered(t, "")
	fatal(t, err)
	want := []string{"ConfigMap shop", "Deployment shop", "NetworkPolicy shop", "PersistentVolumeClaim shop", "PodDisruptionBudget shop", "Service shop"}
	if got := kindsOf(all); !slices.Equal(got, want) {
		t.Errorf("it is %q, want %q", got, want)
	}
	d := the(t, all, func(*apps.Deployment) bool { return true })
	pod := d.Spec.Template.Spec
	hardened(t, pod.Containers[0], pod)
	if d.Spec.Strategy.Type != apps.RecreateDeploymentStrategyType || *d.Spec.Replicas != 1 {
		t.Errorf("strategy %s with %d replicas: two processes would want one state file", d.Spec.Strategy.Type, *d.Spec.Replicas)
	}
	if c := pod.Containers[0]; !slices.Equal(c.ReadinessProbe.Exec.Command, []string{"/usr/bin/whittle", "health", "--admin", "127.0.0.1:8081"}) || len(c.Ports) != 1 {
		t.Errorf("%+v, ports %+v", c.ReadinessProbe, c.Ports)
	}
	for _, selector := range []map[string]string{
		the(t, all, func(*core.Service) bool { return true }).Spec.Selector,
		the(t, all, func(*policy.PodDisruptionBudget) bool { return true }).Spec.Selector.MatchLabels,
		the(t, all, func(*networking.NetworkPolicy) bool { return true }).Spec.PodSelector.MatchLabels,
		d.Spec.Selector.MatchLabels,
	} {
		for k, v := range selector {
			if d.Spec.Template.Labels[k] != v {
				t.Errorf("%s=%s selects no pod of the chart", k, v)
			}
		}
	}
	configHas(t, all, "listen: :8080", "state: /var/lib/whittle/whittle.db", "listen: 127.0.0.1:8081",
		"monolith: http://monolith:3000", "forwarded:\n  trust:\n  - 10.0.0.0/8")
}

const whole = `
admin: {tokenSecret: whittle-admin}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
networkPolicy: {adminFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]}
config: {monolith: "http://app:3000", log: {format: json}}
routes: {items.yaml: {routes: [{match: "GET /items/{id}", candidate: "http://items:8090"}]}}
files: {count.binpb: Zm9v}
persistence: {storageClass: fast}
`

func TestTheChartWithEverything(t *testing.T) {
	all, err := rendered(t, whole)
	fatal(t, err)
	d := the(t, all, func(*apps.Deployment) bool { return true })
	pod := d.Spec.Template.Spec
	hardened(t, pod.Containers[0], pod)
	mounts := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		if mounts[v.Name] == "" {
			t.Errorf("volume %s is mounted nowhere", v.Name)
		}
		delete(mounts, v.Name)
	}
	if len(mounts) > 0 {
		t.Errorf("%v are mounts of no volume", mounts)
	}
	if p := pod.Containers[0].ReadinessProbe.HTTPGet; p == nil || p.Path != "/readyz" || p.Port.StrVal != "admin" {
		t.Errorf("readiness %+v", p)
	}
	configHas(t, all, "token_file: /run/secrets/whittle/token", "include: /etc/whittle-routes", "monolith: http://app:3000")
	routes := the(t, all, func(c *core.ConfigMap) bool { return c.Name == "shop-routes" })
	if !strings.Contains(routes.Data["items.yaml"], "match: GET /items/{id}") || string(routes.BinaryData["count.binpb"]) != "foo" {
		t.Errorf("the routes are %v", routes.Data)
	}
	monitor := the(t, all, func(*monitoring.ServiceMonitor) bool { return true })
	admin := the(t, all, func(s *core.Service) bool { return s.Name == "shop-admin" })
	for k, v := range monitor.Spec.Selector.MatchLabels {
		if admin.Labels[k] != v {
			t.Errorf("%s=%s selects no service", k, v)
		}
	}
	if e := monitor.Spec.Endpoints[0]; e.Port != admin.Spec.Ports[0].Name || e.Path != "/metrics" {
		t.Errorf("it scrapes %+v", e)
	}
	if n := the(t, all, func(*networking.NetworkPolicy) bool { return true }); len(n.Spec.Ingress) != 2 || len(n.Spec.Ingress[1].From) != 1 || n.Spec.Ingress[1].Ports[0].Port.StrVal != "admin" {
		t.Errorf("it lets in %+v", n.Spec.Ingress)
	}
}

func TestWhatTheChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: 2": "rollouts that disagree",
		`{replicas: 2, config: {monolith: "http://m", fleet: {nats: "nats://n", name: shop}}}`:                              "a state file each",
		`{replicas: 3, persistence: {enabled: false}, config: {monolith: "http://m", fleet: {nats: embedded, name: shop}}}`: "names that stay",
		"serviceMonitor: {enabled: true}": "admin.tokenSecret",
	} {
		if _, err := rendered(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", values, err, want)
		}
	}
	all, err := rendered(t, "{persistence: {enabled: false}, networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}}")
	if want := []string{"ConfigMap shop", "Deployment shop", "Service shop"}; err != nil || !slices.Equal(kindsOf(all), want) {
		t.Errorf("%q, %v", kindsOf(all), err)
	}
}

func TestTheSidecar(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "kubernetes", "sidecar.yaml"))
	fatal(t, err)
	all := decoded(t, string(text))
	d := the(t, all, func(*apps.Deployment) bool { return true })
	pod := d.Spec.Template.Spec
	hardened(t, pod.Containers[1], pod)
	if s := the(t, all, func(*core.Service) bool { return true }); s.Spec.Ports[0].TargetPort.StrVal != pod.Containers[1].Ports[0].Name {
		t.Error("the service does not lead to whittle")
	}
	if config := the(t, all, func(*core.ConfigMap) bool { return true }).Data["whittle.yaml"]; !strings.Contains(config, "\nforwarded: {trust: [10.0.0.0/8,") {
		t.Errorf("it trusts no proxy:\n%s", config)
	}
}
