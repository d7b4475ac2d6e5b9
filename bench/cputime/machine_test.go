package cputime

import "testing"

func TestMachine(t *testing.T) {
	m, err := parseMachine([]byte("cpu  10 1 20 300 5 0 4 60 7 0\ncpu0 1 2 3\n"))
	if want := (Machine{All: 400, Idle: 305, Stolen: 60}); err != nil || m != want {
		t.Errorf("%+v, %v; want %+v", m, err, want)
	}
	later := Machine{All: 500, Idle: 325, Stolen: 85}.Since(m)
	if later.Share(later.Stolen) != 0.25 || later.Share(later.Idle) != 0.2 {
		t.Errorf("%+v", later)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "cpux 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x"} {
		if _, err := parseMachine([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
