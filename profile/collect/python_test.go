//go:build linux

package collect

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle/internal/needs"
	"whittle/profile"
)

// busyPython is a Python process with one hot line.
func busyPython(t *testing.T) int {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		needs.Missing(t, "python3", "apt-get install python3")
	}
	program := filepath.Join(t.TempDir(), "shop.py")
	text := "def price(n):\n    total = 0\n    while True:\n        total = (total + n * 7) % 13\n\nprint('begun', flush=True)\nprice(3)\n"
	if err := os.WriteFile(program, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, program)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// Endpoints of Python's are not ranked, and that is said before anything is measured.
func TestPythonHasNoEndpoints(t *testing.T) {
	err := HasEndpoints(strconv.Itoa(busyPython(t)))
	if err == nil || !strings.Contains(err.Error(), "is Python's, whose endpoints are not seen") {
		t.Errorf("%v", err)
	}
	for _, target := range []string{strconv.Itoa(os.Getpid()), "http://127.0.0.1:6060", "app.js"} {
		if err := HasEndpoints(target); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// pyenv's python3 is a script that becomes the program: what runs is Python's all the same.
func TestPythonNeedsPySpy(t *testing.T) {
	pid := busyPython(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := openPID(t.Context(), pid, false); err == nil || !strings.Contains(err.Error(), "is profiled by py-spy, and that is not here") {
		t.Errorf("%v", err)
	}
}

// A stand-in writes what py-spy does: its arguments, and its end by an interrupt, are held.
func TestPySpyIsAskedAndInterrupted(t *testing.T) {
	pid, folder := busyPython(t), t.TempDir()
	script := `#!/bin/sh
while [ "$1" != --output ]; do case "$1" in --format|--full-filenames|--pid) seen="$seen $1";; esac; shift; done
trap 'echo "price (/srv/shop.py:4) 42" > "$file"; exit 0' INT
file="$2"; case "$seen" in *--pid*--format*--full-filenames*) ;; *) exit 3;; esac
: > "` + filepath.Join(folder, "begun") + `"
while :; do sleep 0.05; done
`
	if err := os.WriteFile(filepath.Join(folder, "py-spy"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	s, err := openPID(t.Context(), pid, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	defer func() { cancel(); <-watched }()
	go func() {
		defer close(watched)
		defer cancel()
		for ; ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(folder, "begun")); err == nil || ctx.Err() != nil {
				return
			}
		}
	}()
	got, err := s.Take(ctx, profile.CPU, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got.Runtime != profile.Python || got.Estimated || got.Samples[0].Objects != 42 || !strings.HasSuffix(got.Service, "shop.py") {
		t.Errorf("%+v", got.Profile)
	}
}

// The real tool finds the hot line.
func TestPySpyFindsTheLine(t *testing.T) {
	if _, err := exec.LookPath("py-spy"); err != nil {
		needs.Missing(t, "py-spy", "pip install py-spy")
	}
	s, err := openPID(t.Context(), busyPython(t), false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Take(t.Context(), profile.CPU, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if sites := got.Sites(1); len(sites) == 0 || got.Functions[sites[0].Function].Name != "price" || sites[0].Line != 4 {
		t.Errorf("sites %+v", sites)
	}
}
