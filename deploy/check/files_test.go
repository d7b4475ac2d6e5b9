package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	core "k8s.io/api/core/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
)

// TestUnit: the service goes on where SIGUSR2 puts another process in the main one's place,
// of which systemd hears from the new one.
func TestUnit(t *testing.T) {
	b, err := os.ReadFile("../systemd/whittle.service")
	fatal(t, err)
	for _, want := range []string{"Type=notify", "NotifyAccess=all", "KillMode=mixed"} {
		if !slices.Contains(strings.Split(string(b), "\n"), want) {
			t.Errorf("the unit has no line %s", want)
		}
	}
}

// dockerfile gives the last stage's commands.
func dockerfile(t *testing.T, path string) instructions.Stage {
	t.Helper()
	f, err := os.Open(path)
	fatal(t, err)
	defer f.Close()
	tree, err := parser.Parse(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(tree.Warnings) > 0 {
		t.Errorf("%s: %+v", path, tree.Warnings)
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, s := range stages {
		for _, c := range s.Commands {
			copied, ok := c.(*instructions.CopyCommand)
			if !ok || copied.From != "" {
				continue
			}
			for _, from := range copied.SourcePaths {
				if _, err := os.Stat(filepath.Join("..", "..", from)); err != nil {
					t.Errorf("%s copies what is not there: %v", path, err)
				}
			}
		}
	}
	return stages[len(stages)-1]
}

func TestDockerfiles(t *testing.T) {
	for path, health := range map[string]bool{"../../Dockerfile": true, "../docker/system.Dockerfile": false, "../docker/monolith.Dockerfile": true} {
		last := dockerfile(t, path)
		user, checked, shell := "", false, false
		for _, c := range last.Commands {
			switch c := c.(type) {
			case *instructions.UserCommand:
				user = c.User
			case *instructions.HealthCheckCommand:
				checked = c.Health.Test[0] == "CMD"
			case *instructions.EntrypointCommand:
				shell = shell || c.PrependShell
			case *instructions.CmdCommand:
				shell = shell || c.PrependShell
			}
		}
		if user == "" || user == "root" || user == "0" {
			t.Errorf("%s runs as %q", path, user)
		}
		if checked != health {
			t.Errorf("%s has a health check: %v, want %v", path, checked, health)
		}
		if shell {
			t.Errorf("%s starts its program by a shell, which takes the signals", path)
		}
	}
}

func TestComposeFiles(t *testing.T) {
	files, err := filepath.Glob("../compose/*.yaml")
	fatal(t, err)
	for _, path := range append(files, "../../compose.yaml") {
		dir, err := filepath.Abs(filepath.Dir(path))
		fatal(t, err)
		p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
			WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: path}}, Environment: types.Mapping{},
		}, func(o *loader.Options) { o.SetProjectName("whittle", false) })
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.Services)) {
			s := p.Services[name]
			if s.Build == nil {
				t.Errorf("%s: %s is not built", path, name)
				continue
			}
			if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %s: %v", path, name, err)
			}
			if !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
				t.Errorf("%s: %s keeps capabilities", path, name)
			}
			image := dockerfile(t, filepath.Join(s.Build.Context, s.Build.Dockerfile))
			ofImage := slices.ContainsFunc(image.Commands, func(c instructions.Command) bool { return c.Name() == "HEALTHCHECK" })
			if s.HealthCheck == nil && !ofImage {
				t.Errorf("%s: %s has no health check", path, name)
			}
			for _, v := range s.Volumes {
				if v.Type == types.VolumeTypeBind {
					if _, err := os.Stat(v.Source); err != nil {
						t.Errorf("%s: %s: %v", path, name, err)
					}
				}
			}
		}
	}
}

// TestRouteOfAGateway: the example leads to whittle's Service, and keeps no session where it
// is, since that would outlive a rollback.
func TestRouteOfAGateway(t *testing.T) {
	text, err := os.ReadFile("../../examples/gateway-api/route.yaml")
	fatal(t, err)
	all := decoded(t, string(text))
	service := the(t, all, func(*core.Service) bool { return true })
	rules := the(t, all, func(*gateway.HTTPRoute) bool { return true }).Spec.Rules
	if to := rules[0].BackendRefs[0]; string(to.Name) != service.Name || *to.Port != service.Spec.Ports[0].Port {
		t.Errorf("the path leads to %s", to.Name)
	}
	for _, r := range rules {
		if r.SessionPersistence != nil {
			t.Error("sessions are kept where they are")
		}
	}
}

func TestTheDashboardsExpressions(t *testing.T) {
	text, err := os.ReadFile("../grafana/whittle.json")
	fatal(t, err)
	var d struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	fatal(t, json.Unmarshal(text, &d))
	var rules strings.Builder
	count := 0
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for _, p := range d.Panels {
		if p.GridPos.X+p.GridPos.W > 24 || len(p.Targets) == 0 {
			t.Errorf("%s: %+v", p.Title, p.GridPos)
		}
		for _, e := range p.Targets {
			expr, err := json.Marshal(strings.ReplaceAll(e.Expr, "$__rate_interval", "5m"))
			fatal(t, err)
			count++
			fmt.Fprintf(&rules, "  - {record: \"dashboard:expression:%d\", expr: %s}\n", count, expr)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		const missing = "NOT TRIED: the dashboard's expressions: apt-get install prometheus"
		if os.Getenv("REQUIRE_ALL") != "" { // as in the other tests (internal/needs, which is another module's)
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	fatal(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
