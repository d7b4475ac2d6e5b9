package dashboard_test

import (
	"testing"

	"whittle/carve/dashboard/dashboardtest"
)

func TestMain(m *testing.M) { dashboardtest.Main(m) }
