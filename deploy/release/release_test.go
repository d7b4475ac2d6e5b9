package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fatal ends the test at an error.
func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copied is the commit that is checked out, in a folder of its own.
func copied(t *testing.T, depth string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), depth)
	clone := exec.CommandContext(t.Context(), "git", "clone", "-q", "--no-hardlinks", "--depth", "1", "file://"+top(t), dir)
	if out, err := clone.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func top(t *testing.T) string {
	t.Helper()
	root, err := output(exec.CommandContext(t.Context(), "git", "rev-parse", "--show-toplevel"))
	fatal(t, err)
	return root
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	fatal(t, err)
	found := map[string][]byte{}
	for _, e := range entries {
		if found[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestTheSameBytes builds twice, in two folders, and looks into what was made.
func TestTheSameBytes(t *testing.T) {
	made := make([]map[string][]byte, 2)
	for i, depth := range []string{"a", "another/and deeper"} {
		out := filepath.Join(t.TempDir(), "out")
		fatal(t, run(t.Context(), copied(t, depth), out, "linux_amd64"))
		made[i] = contents(t, out)
	}
	if len(made[0]) != 6 || len(made[1]) != 6 {
		t.Fatalf("%d and %d files", len(made[0]), len(made[1]))
	}
	for name, b := range made[0] {
		if !bytes.Equal(b, made[1][name]) {
			t.Errorf("%s is another one in another folder", name)
		}
		switch {
		case strings.HasSuffix(name, ".tar.gz"):
			program, _, _ := strings.Cut(name, "_")
			lookIntoArchive(t, program, b)
		case strings.HasSuffix(name, ".cdx.json"):
			lookIntoParts(t, b, strings.HasPrefix(name, "whittle-fleet_"))
		case strings.HasSuffix(name, ".deb"):
			lookIntoPackage(t, b)
		}
	}
}

// TestWhatIsNotCommitted: neither a change nor a new file comes into a release.
func TestWhatIsNotCommitted(t *testing.T) {
	for name, text := range map[string]string{"README.md": "another", "cmd/whittle/more.go": "package main\n"} {
		dir := copied(t, "a")
		fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		if err := run(t.Context(), dir, filepath.Join(t.TempDir(), "out"), "plan9_none"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func lookIntoArchive(t *testing.T, program string, b []byte) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	fatal(t, err)
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		fatal(t, err)
		_, name, _ := strings.Cut(h.Name, "/")
		names = append(names, name)
		if name != program {
			continue
		}
		binary, err := io.ReadAll(r)
		fatal(t, err)
		path := filepath.Join(t.TempDir(), "whittle")
		fatal(t, os.WriteFile(path, binary, 0o700))
		if said, err := output(exec.CommandContext(t.Context(), path, "--version")); err != nil || len(strings.Fields(said)) != 5 {
			t.Errorf("--version says %q, %v", said, err)
		}
		if root := top(t); bytes.Contains(binary, []byte(root)) {
			t.Error("the binary names the folder that it was built in")
		}
	}
	want := []string{program, "CHANGELOG.md", "LICENSE", "README.md", "etc/whittle.yaml", "routes.schema.json", "systemd/whittle.service", "whittle.schema.json"}
	if !slices.Equal(names, want) {
		t.Errorf("the archive has %q", names)
	}
}

func lookIntoParts(t *testing.T, b []byte, server bool) {
	t.Helper()
	var bom struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(b, &bom); err != nil || bom.BOMFormat != "CycloneDX" || len(bom.Components) < 20 {
		t.Errorf("%v: %s with %d components", err, bom.BOMFormat, len(bom.Components))
	}
	if !slices.ContainsFunc(bom.Components, func(c struct{ Name, Version, PURL string }) bool {
		return c.Name == "github.com/alecthomas/kong" && strings.HasPrefix(c.PURL, "pkg:golang/github.com/alecthomas/kong@v1.")
	}) {
		t.Error("kong is no part")
	}
	if has := slices.ContainsFunc(bom.Components, func(c struct{ Name, Version, PURL string }) bool {
		return c.Name == "github.com/nats-io/nats-server/v2"
	}); has != server {
		t.Errorf("a NATS server is a part: %v", has)
	}
}

// lookIntoPackage installs a package's files into a folder and asks Debian's own tool of it.
func lookIntoPackage(t *testing.T, b []byte) {
	t.Helper()
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		const missing = "NOT TRIED: the package: apt-get install dpkg"
		if os.Getenv("REQUIRE_ALL") != "" { // as in the other tests (internal/needs, which is another module's)
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "whittle.deb")
	fatal(t, os.WriteFile(path, b, 0o600))
	fields, err := output(exec.CommandContext(t.Context(), dpkg, "--field", path, "Package", "Architecture", "Version"))
	if err != nil || !strings.Contains(fields, "Package: whittle") || !strings.Contains(fields, "Architecture: amd64") {
		t.Errorf("%q, %v", fields, err)
	}
	if out, err := exec.CommandContext(t.Context(), dpkg, "-x", path, filepath.Join(dir, "root")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	root := filepath.Join(dir, "root")
	for _, to := range places {
		if _, err := os.Stat(filepath.Join(root, to)); err != nil {
			t.Errorf("%v", err)
		}
	}
	config, err := os.ReadFile(filepath.Join(root, "etc/whittle/whittle.yaml"))
	fatal(t, err)
	// Its own binary takes its own config.
	here := filepath.Join(root, "etc/whittle/here.yaml")
	fatal(t, os.WriteFile(here, bytes.ReplaceAll(config, []byte("/etc/whittle"), []byte(filepath.Join(root, "etc/whittle"))), 0o600))
	if said, err := output(exec.CommandContext(t.Context(), filepath.Join(root, "usr/bin/whittle"), "check", "-c", here)); err != nil || !strings.Contains(said, "is good") {
		t.Errorf("%s: %v", said, err)
	}
	if verify, err := exec.LookPath("systemd-analyze"); err == nil {
		unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/whittle.service"))
		fatal(t, err)
		file := filepath.Join(dir, "whittle.service")
		text := strings.ReplaceAll(string(unit), "/usr/bin/whittle", filepath.Join(root, "usr/bin/whittle"))
		fatal(t, os.WriteFile(file, []byte(text), 0o600))
		if out, err := exec.CommandContext(t.Context(), verify, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify: %v: %s", err, out)
		}
		if out, err := exec.CommandContext(t.Context(), verify, "security", "--offline=true", "--threshold=20", file).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze security: %v: %s", err, out)
		}
	}
}
