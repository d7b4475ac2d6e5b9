package child

import (
	"os"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// TestEndsWithParent kills the parent of a server: the server does not outlive it.
func TestEndsWithParent(t *testing.T) {
	p, err := Start(t.Context(), options("parent"), os.Args[0])
	fatal.If(t, err)
	fatal.If(t, reached(t.Context(), p.Public))
	p.Kill()
	for began := time.Now(); reached(t.Context(), p.Public) == nil; { // until the kernel has ended it
		if time.Since(began) > time.Minute {
			t.Fatal("it is still there")
		}
	}
}
