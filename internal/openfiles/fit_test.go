package openfiles

import (
	"testing"

	"whittle/internal/fatal"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		limit                uint64
		wanted, others, fits int
	}{
		{0, 16_384, 100, 16_384}, // not known
		{1 << 20, 16_384, 100, 16_384},
		{200, 100, 100, 100},
		{199, 100, 100, 99},
		{4096, 16_384, 198, 3898},
		{64, 16_384, 100, 16}, // the others do not fit themselves
		{64, 10, 100, 10},
		{2, 16_384, 100, 1},
	} {
		fatal.Same(t, Fit(tt.limit, tt.wanted, tt.others), tt.fits, "%d connections and %d files with a limit of %d", tt.wanted, tt.others, tt.limit)
	}
}
