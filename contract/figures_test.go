package contract

import (
	"testing"

	"whittle/internal/units"
)

func TestFigures(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{About(1), "nearly every one"},
		{About(0.2), "about 20 %"},
		{About(0.996), "nearly every one"},
		{About(0), "hardly one"},
		{units.Percent(0.075), "7.5 %"},
		{units.Percent(0.0075), "0.75 %"},
		{units.Percent(1), "100 %"},
		{units.Percent(0.000001), "0.01 %"},
		{units.Percent(0.0999), "10 %"},
		{Count(1, "exchange"), "1 exchange"},
		{Count(0, "field"), "0 fields"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
