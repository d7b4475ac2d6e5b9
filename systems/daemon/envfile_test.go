package daemon

import (
	"os"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

func TestDefaultEnvFileMayBeMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	if values, err := EnvFile(DefaultEnvFile); err != nil || len(values) != 0 {
		t.Errorf("%v, %v, want nothing", values, err)
	}
	fatal.If(t, os.WriteFile(DefaultEnvFile, []byte("A=1\n"), 0o600))
	if values, err := EnvFile(DefaultEnvFile); err != nil || values["A"] != "1" {
		t.Errorf("%v, %v, want A=1", values, err)
	}
}

// TestALongEnvFileIsRefused whole: what its end says would be left out, and nobody told.
func TestALongEnvFileIsRefused(t *testing.T) {
	path := t.TempDir() + "/long"
	text := "A=1\n" + strings.Repeat("# a note\n", maxEnvFile/9+1) + "B=2\n"
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	if values, err := EnvFile(path); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("%v, %v", values, err)
	}
}
