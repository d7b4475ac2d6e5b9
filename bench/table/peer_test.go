package table

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPeersArePinned(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "tool")
	// As wrk does, it fails when it is asked.
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho 'tool debian/4.1.0-3 [epoll] 2012.5'\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(AnyPeers, "")
	for want, ok := range map[string]bool{"4.1.0": true, "4.1": true, "4": true, "4.1.1": false, "4.10": false, "": true} {
		if err := Pinned(t.Context(), "tool", tool, want, "-v"); (err == nil) != ok {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := Pinned(t.Context(), "nothing", tool+"-none", "1.0"); err == nil {
		t.Error("a tool that is not there is of every version")
	}
	t.Setenv(AnyPeers, "1")
	if err := Pinned(t.Context(), "tool", tool, "9.9", "-v"); err != nil {
		t.Error(err)
	}
}
