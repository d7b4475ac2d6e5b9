package scaffold

import (
	"os"
	"testing"
)

// TestMain has the projects compiled without the names of their folders in them, so
// that what two of them have in common, and what an earlier run had, is in Go's cache.
func TestMain(m *testing.M) {
	if err := os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestGoFlags(t *testing.T) {
	t.Setenv("GOFLAGS", " -mod=vendor -trimpath --modfile=x.mod  -tags=a,b -modcacherw")
	if got := goFlags(); got != "-trimpath -tags=a,b -modcacherw" {
		t.Errorf("goFlags = %q", got)
	}
}
