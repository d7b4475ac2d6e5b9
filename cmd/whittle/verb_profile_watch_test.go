package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"whittle/cmdline"
	"whittle/profile/measure"
)

// The watch goes on until it is ended, which is no error, and keeps what it took.
func TestWatchKeepsProfiles(t *testing.T) {
	s, folder := startGoService(t), filepath.Join(t.TempDir(), "ring")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	ended := make(chan error, 1)
	v := takeVerb{Process: s.URL, Watch: folder, Every: time.Second, Keep: 2 * time.Hour, Settings: measure.Settings{Duration: time.Second}}
	go func() { ended <- v.Run(ctx, cmdline.Streams{Out: &out, Err: &out}, &kong.Context{}) }()
	kept := func() (n int) {
		files, err := filepath.Glob(filepath.Join(folder, "2*", "cpu.pb.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	for deadline := time.Now().Add(20 * time.Second); kept() < 2 && time.Now().Before(deadline); {
		select {
		case err := <-ended:
			t.Fatalf("ended by itself: %v\n%s", err, out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil || kept() < 2 {
		t.Errorf("%v, %d profiles are kept\n%s", err, kept(), out.String())
	}
	if !strings.Contains(out.String(), "only") && !strings.Contains(out.String(), "is asked for by one line") {
		t.Errorf("said: %s", out.String())
	}
}

func TestWatchRefusesWhatItIsNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpu.txt")
	if err := os.WriteFile(file, []byte("a;b 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"there is no --during":         {file},
		"--every is 1s to 1h":          {"http://127.0.0.1:1", "--every", "2h"},
		"--keep 2h to 720h":            {"http://127.0.0.1:1", "--keep", "1h"},
		"a profile of 10s every 5s":    {"http://127.0.0.1:1", "--every", "5s"},
		"no --during, --save, --json,": {"http://127.0.0.1:1", "--save", "x"},
	} {
		status, out, errs := whittleOnce(t, append([]string{"profile", "--watch", t.TempDir()}, args...)...)
		if status != 2 || !strings.Contains(out+errs, want) {
			t.Errorf("%q: status %d: %s%s, want %q", args, status, out, errs, want)
		}
	}
}
