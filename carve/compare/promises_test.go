package compare

import (
	"testing"

	"whittle"
	"whittle/carve/compare/promisetest"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	promisetest.Judges(t, func(t testing.TB, c whittle.Comparison) promisetest.Judge {
		j := judgeOf(t, c)
		return j
	})
}
