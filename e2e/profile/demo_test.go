//go:build linux

package profile

import (
	"path/filepath"
	"strings"
	"testing"

	"whittle/profile/guard"
	"whittle/profile/report"
)

// scene is a part of the demo's JSON.
type scene struct {
	Rate     float64        `json:"requests_per_second"`
	Failed   int64          `json:"failed"`
	APICPU   float64        `json:"api_cpu_ms_per_request"`
	CacheCPU float64        `json:"cache_cpu_ms_per_request"`
	Profile  *report.Report `json:"profile"`
}

// TestDemoEmojify runs the whole demo: the line is named, the CPU falls with
// it, and the guard sees it come back.
func TestDemoEmojify(t *testing.T) {
	out := t.TempDir()
	said, _, status := program(t, "demo", "emojify", "--short", "--out", out)
	if status != 0 {
		t.Fatalf("demo emojify: exit status %d", status)
	}
	figures := reads[struct {
		Format  string         `json:"format"`
		With    scene          `json:"with_the_line"`
		Without scene          `json:"without_it"`
		Fall    float64        `json:"cpu_per_request_fell_by"`
		Target  float64        `json:"target"`
		Guard   *guard.Verdict `json:"guard_when_it_comes_back"`
	}](t, filepath.Join(out, "demo-emojify.json"))
	if figures.Format != "whittle.demo-emojify/1" || figures.With.Failed+figures.Without.Failed != 0 || figures.With.Rate == 0 {
		t.Errorf("the figures: %+v", figures)
	}
	// The line is named by file and line, as the dearest and as what it is.
	printed := line(t, "systems/emojify/api/pictures.go", `fmt.Println("err", d, err)`)
	if p := figures.With.Profile; len(p.Sites) == 0 || !strings.HasSuffix(p.Sites[0].Where(), printed) || !strings.Contains(said, printed) {
		t.Errorf("%s is not the dearest line: %q", printed, p.Words)
	}
	var named []string
	for _, s := range figures.With.Profile.Smells {
		if strings.HasSuffix(s.Where(), printed) {
			named = append(named, s.Name)
		}
	}
	if len(named) != 1 || named[0] != "printed-message" {
		t.Errorf("the line is named %q", named)
	}
	if len(figures.Without.Profile.Smells) > 0 {
		t.Errorf("the clean service smells: %+v", figures.Without.Profile.Smells)
	}
	if figures.With.APICPU <= figures.With.CacheCPU || figures.Without.APICPU >= figures.With.APICPU {
		t.Errorf("CPU a request: api %v and cache %v with the line, api %v without", figures.With.APICPU, figures.With.CacheCPU, figures.Without.APICPU)
	}
	if figures.Target != 0.90 || figures.Fall < figures.Target {
		t.Errorf("the CPU per request fell by %.3f, the target is %.2f", figures.Fall, figures.Target)
	}
	if v := figures.Guard; v == nil || v.Outcome != guard.Broken || len(v.Blame) == 0 || !strings.Contains(v.Blame[0].Function, "api/pictures.go") {
		t.Errorf("the guard when it comes back: %+v", v)
	}
}
