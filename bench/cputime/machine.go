package cputime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Machine is what all cores together have done since the system started, in
// clock ticks.
type Machine struct {
	All, Idle uint64
	// Stolen is what a hypervisor gave to others while something here was ready
	// to run.
	Stolen uint64
}

// OfMachine reads the first line of /proc/stat, which Linux has.
func OfMachine() (Machine, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Machine{}, fmt.Errorf("read the machine's time: %w", err)
	}
	return parseMachine(b)
}

// parseMachine reads "cpu user nice system idle iowait irq softirq steal …" of
// proc_stat(5). Waiting for a disk is idle; guest time is in user already.
func parseMachine(b []byte) (m Machine, err error) {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 9 || string(f[0]) != "cpu" {
		return m, errors.New("read the machine's time: /proc/stat does not begin with it")
	}
	for i, field := range f[1:9] {
		n, err := strconv.ParseUint(string(field), 10, 63)
		if err != nil {
			return m, fmt.Errorf("read the machine's time: %w", err)
		}
		m.All += n
		switch i {
		case 3, 4:
			m.Idle += n
		case 7:
			m.Stolen += n
		}
	}
	return m, nil
}

// Since is what was done after an earlier reading.
func (m Machine) Since(before Machine) Machine {
	return Machine{All: m.All - before.All, Idle: m.Idle - before.Idle, Stolen: m.Stolen - before.Stolen}
}

// Share is a part of all, NaN where nothing has passed.
func (m Machine) Share(part uint64) float64 { return float64(part) / float64(m.All) }
