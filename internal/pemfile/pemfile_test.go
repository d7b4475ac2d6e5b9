package pemfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"whittle/internal/fatal"
)

// TestRead: what is no file is refused at once, and nobody waits for a pipe.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	fatal.If(t, syscall.Mkfifo(at("pipe"), 0o600))
	fatal.If(t, os.WriteFile(at("text"), []byte("hello"), 0o600))
	for name, want := range map[string]string{
		at("pipe"): "pipe is no regular file",
		dir:        "is a folder",
		at("none"): "no such file",
		"/dev/tty": "", // there may be none
	} {
		if _, err := Read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%s) = %v, want %q", name, err, want)
		}
	}
	if b, err := Read(at("text")); string(b) != "hello" || err != nil {
		t.Errorf("Read = %q, %v", b, err)
	}
	if _, err := Authorities(at("text")); err == nil || err.Error() != "it holds no certificate in PEM" {
		t.Errorf("Authorities = %v", err)
	}
	for _, pair := range [][2]string{{"text", "text"}, {"text", "pipe"}, {"pipe", "text"}} {
		if _, err := Pair(at(pair[0]), at(pair[1])); err == nil {
			t.Errorf("Pair%v has no error", pair)
		}
	}
}
