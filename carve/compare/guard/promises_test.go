package guard

import (
	"testing"

	"whittle"
	"whittle/carve/compare/promisetest"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promisetest.Guards(t, func(g whittle.Guard) promisetest.Guard { return New(g) })
}
