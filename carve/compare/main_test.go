package compare

import (
	"os"
	"runtime/debug"
	"testing"
)

// The simulations make millions of small exchanges and keep none of them, so that
// by default a third of their time would go into collecting a heap of 4 MB.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}
