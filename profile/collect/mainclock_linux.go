package collect

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whittle/profile"
)

// clockEvery is how often the CPU clock of a process's main thread is read: as often as
// V8 samples.
const clockEvery = sampleEvery

// mainClock reads the CPU clock of a process's main thread until it is stopped. It asks
// the kernel, and not the process.
type mainClock struct {
	cancel   context.CancelFunc
	done     chan struct{}
	readings []profile.ClockReading // once it is done
}

// readMainClock begins; stop must be called, whether ctx ends or not.
func readMainClock(ctx context.Context, pid int) *mainClock {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &mainClock{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "schedstat"))
		if err != nil {
			return // then the clock is not known
		}
		defer f.Close()
		m.read(ctx, f)
	}()
	return m
}

// stop ends the reading, and gives the readings by V8's clock. It may be called again.
func (m *mainClock) stop() []profile.ClockReading {
	m.cancel()
	<-m.done
	return m.readings
}

func (m *mainClock) read(ctx context.Context, f *os.File) {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	last := time.Duration(-1)
	for ctx.Err() == nil && len(m.readings) < maxReadings {
		if r, ok := readClock(f); ok && r.At > last {
			m.readings = append(m.readings, r)
			last = r.At
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// maxReadings bounds the readings of one profile: an hour and a half of them.
const maxReadings = 1 << 19

// readClock reads a thread's schedstat, whose first number is how many nanoseconds it has
// been on a processor.
func readClock(f *os.File) (profile.ClockReading, bool) {
	var now unix.Timespec
	var text [64]byte
	n, _ := f.ReadAt(text[:], 0) // its end is an error, too
	field, _, ok := strings.Cut(string(text[:n]), " ")
	used, err := strconv.ParseInt(field, 10, 64)
	if !ok || err != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil { // which V8's is
		return profile.ClockReading{}, false
	}
	return profile.ClockReading{At: time.Duration(now.Nano()), Used: time.Duration(used)}, true
}
