//go:build linux

package profile

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/profile/guard"
)

// emojify starts the whole system in one process.
func emojify(t *testing.T, folder string, flags ...string) *process.Process {
	t.Helper()
	argv := []string{filepath.Join(built, "emojify"), "all", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--dir", folder, "--log-level", "ERROR"}
	return process.Start(t, append(argv, flags...)...)
}

// finished sends a picture through, and gives the path where it is served from
// the cache.
func finished(t *testing.T, p *process.Process) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	img := image.NewGray(image.Rect(0, 0, 320, 240))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = color.Gray{Y: uint8(r.Uint32())}.Y // no format makes it small
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, img); err != nil {
		t.Fatal(err)
	}
	resp, err := client.Post("http://"+p.Public+"/emojify/", "image/png", &picture)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var job struct {
		ID string `json:"id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&job); err != nil || job.ID == "" {
		t.Fatalf("status %s, job %+v, %v", resp.Status, job, err)
	}
	until(t, "the picture is finished", func() bool {
		resp, err := client.Get("http://" + p.Public + "/cache/" + job.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode == http.StatusOK
	})
	return "/cache/" + job.ID
}

// TestTheGuardSeesTheLineComeBack keeps a baseline of emojify, finds that it
// holds, and then brings the forgotten line back.
func TestTheGuardSeesTheLineComeBack(t *testing.T) {
	folder, kept := t.TempDir(), t.TempDir()
	baseline := filepath.Join(kept, "cost.json")
	clean := emojify(t, folder)
	path := finished(t, clean)
	plan := write(t, "plan.yml", `
config: {target: "http://127.0.0.1:1", phases: [{duration: 2, arrivalRate: 20}]}
scenarios: [{flow: [{get: {url: "`+path+`"}}]}]
`)
	check := func(p *process.Process, more ...string) (string, int) {
		args := append([]string{"profile", "guard", "http://" + p.Admin, "--during", plan, "--target", "http://" + p.Public, "--baseline", baseline, "--runs", "5", "--max-late", "1s"}, more...)
		out, errs, status := command(t, args...)
		return out + errs, status
	}
	if said, status := check(clean); status != 2 || !strings.Contains(said, "make one with --update") {
		t.Errorf("without a baseline: exit status %d, %q", status, said)
	}
	if said, status := check(clean, "--update"); status != 0 || !strings.Contains(said, "kept 5 runs") {
		t.Fatalf("exit status %d, %q", status, said)
	}
	// The machine of a test is nobody's alone, so the limit is wide; the line
	// costs several times as much.
	if said, status := check(clean, "--max-cpu-per-request", "+100%"); status != 0 {
		t.Errorf("the same service: exit status %d, %q", status, said)
	}
	clean.Kill()

	printing := emojify(t, folder, "--debug-print")
	verdict := filepath.Join(kept, "verdict.json")
	said, status := check(printing, "--max-cpu-per-request", "+20%", "--json", verdict)
	v := reads[guard.Verdict](t, verdict)
	if status != 1 || v.Outcome != guard.Broken || len(v.Blame) == 0 || !strings.Contains(v.Blame[0].Function, "api/pictures.go") || !strings.Contains(said, v.Blame[0].Function) {
		t.Errorf("exit status %d, %+v, %q", status, v, said)
	}
}
