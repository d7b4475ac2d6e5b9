package own

import (
	"testing"

	"whittle/internal/simtest"
)

func TestMain(m *testing.M) { simtest.Main(m) }
