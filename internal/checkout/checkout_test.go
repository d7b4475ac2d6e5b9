package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRoot finds this repository from a room of it, not another module's on the way,
// and nothing outside.
func TestRoot(t *testing.T) {
	root := Root()
	if _, err := os.Stat(filepath.Join(root, "internal/checkout/checkout_test.go")); root == "" || err != nil {
		t.Errorf("Root = %q: %v", root, err)
	}

	outer := t.TempDir()
	inner := filepath.Join(outer, "made", "cmd")
	if err := os.MkdirAll(inner, 0o750); err != nil {
		t.Fatal(err)
	}
	for dir, module := range map[string]string{outer: "whittle", filepath.Dir(inner): "example.com/shop"} {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+module+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := above(inner); got != outer {
		t.Errorf("above(%s) = %q, want %s", inner, got, outer)
	}
	if got := above(t.TempDir()); got != "" {
		t.Errorf("outside of any module it found %q", got)
	}
}
