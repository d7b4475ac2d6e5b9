//go:build !linux

package collect

import (
	"context"

	"whittle"
)

func openPID(_ context.Context, pid int) (Source, error) {
	return nil, whittle.Errorf(whittle.Unsupported, "profile process %d: by its id on Linux only", pid).
		WithHint("start it with --inspect, and give http://127.0.0.1:9229")
}
