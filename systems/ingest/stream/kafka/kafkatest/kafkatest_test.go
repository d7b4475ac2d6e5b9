package kafkatest

import (
	"os"
	"path/filepath"
	"regexp"
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
	b := &Broker{dir: t.TempDir(), client: "127.0.0.1:1", control: "127.0.0.1:2", settings: map[string]string{"num.io.threads": "7"}}
	if err := b.configure(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.config())
	if err != nil || !strings.Contains(string(text), "\nnum.io.threads=7\n") || strings.Contains(string(text), "num.io.threads=2") {
		t.Errorf("%s %v", text, err)
	}
}

// TestDataAreACopyWithIDsOfTheirOwn: brokers out of one formatted folder are of clusters
// of their own, and data that are there stay.
func TestDataAreACopyWithIDsOfTheirOwn(t *testing.T) {
	formatted := t.TempDir()
	from := (&Broker{dir: formatted}).data()
	if err := os.Mkdir(from, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"meta.properties": "#\nnode.id=1\ndirectory.id=d\nversion=1\ncluster.id=c\n", "bootstrap.checkpoint": "\x00records",
	} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for range 2 {
		b := &Broker{dir: t.TempDir(), formatted: formatted}
		var before string
		for range 2 {
			if err := b.copyData(); err != nil {
				t.Fatal(err)
			}
			meta, err := os.ReadFile(filepath.Join(b.data(), "meta.properties"))
			if err != nil || !regexp.MustCompile(`^#\nnode.id=1\ndirectory.id=[A-Za-f][\w-]{21}\nversion=1\ncluster.id=[A-Za-f][\w-]{21}\n$`).Match(meta) {
				t.Fatalf("%s %v", meta, err)
			}
			if before != "" && before != string(meta) {
				t.Errorf("%s became %s", before, meta)
			}
			before = string(meta)
		}
		if seen[before] {
			t.Error("two brokers have the same ids")
		}
		seen[before] = true
		if text, err := os.ReadFile(filepath.Join(b.data(), "bootstrap.checkpoint")); err != nil || string(text) != "\x00records" {
			t.Errorf("%q %v", text, err)
		}
	}
}
