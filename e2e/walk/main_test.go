// Package walk takes the whole way on real processes: the built whittle before
// the Node monolith, with the published and the mended service next to it. It
// kills them at bad moments, and counts what users saw.
package walk

import (
	"path/filepath"
	"testing"

	"whittle/e2e/process"
)

// built is where the services are, gateway the whittle that is tested.
var built, gateway string

func TestMain(m *testing.M) { process.Main(m, build) }

// build makes the commands: whittle with the race detector where the tests have
// it, the services without, since they do nothing but draw.
func build() (err error) {
	if err := process.NeedMonolith(); err != nil {
		return err
	}
	if built, err = process.Build("./cmd/whittle", "./systems/count/cmd/count"); err != nil || !raced {
		gateway = filepath.Join(built, "whittle")
		return err
	}
	withDetector, err := process.BuildRaced("./cmd/whittle")
	gateway = filepath.Join(withDetector, "whittle")
	return err
}

// service starts the count service.
func service(t *testing.T) *process.Process {
	t.Helper()
	return process.Start(t, filepath.Join(built, "count"), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "")
}
