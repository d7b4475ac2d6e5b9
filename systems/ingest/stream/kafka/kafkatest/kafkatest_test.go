package kafkatest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle"
)

// That a broker starts, is killed and comes back is tested where one is used, in
// systems/ingest/stream/kafka.

func TestMissingSaysHowToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Missing()
	if whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.Contains(err.Error(), "java") {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{}); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Error(err)
	}
}

func TestCacheIsInTheModule(t *testing.T) {
	root := filepath.Dir(filepath.Dir(cacheDir()))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "/cache")
	if got := cacheDir(); got != "/cache/whittle/kafka" {
		t.Error(got)
	}
}

func TestSettingsWin(t *testing.T) {
	b := &Broker{dir: t.TempDir(), client: 1, control: 2, settings: map[string]string{"num.io.threads": "7"}}
	if err := b.configure(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.config())
	if err != nil || !strings.Contains(string(text), "\nnum.io.threads=7\n") || strings.Contains(string(text), "num.io.threads=2") {
		t.Errorf("%s %v", text, err)
	}
}
