package collect

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whittle/profile"
)

// threadClock reads the CPU clock of a process's thread until it is stopped. It asks
// the kernel, and not the process.
type threadClock struct {
	cancel   context.CancelFunc
	done     chan struct{}
	readings []profile.ClockReading // once it is done
}

// readThread begins; stop must be called, whether ctx ends or not.
func readThread(ctx context.Context, pid, thread int, every time.Duration) *threadClock {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &threadClock{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		f, err := os.Open(proc(pid, "task", strconv.Itoa(thread), "schedstat"))
		if err != nil {
			return // then the clock is not known
		}
		defer f.Close()
		c.read(ctx, f, every)
	}()
	return c
}

// stop ends the reading, and gives the readings by V8's clock. It may be called again.
func (c *threadClock) stop() []profile.ClockReading {
	c.cancel()
	<-c.done
	return c.readings
}

func (c *threadClock) read(ctx context.Context, f *os.File, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Duration(-1)
	for ctx.Err() == nil && len(c.readings) < maxReadings {
		if r, ok := readClock(f); ok && r.At > last {
			c.readings = append(c.readings, r)
			last = r.At
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// maxReadings bounds the readings of one thread: an hour and a half of the main thread's.
const maxReadings = 1 << 19

// onProcessor reads a thread's schedstat, whose first number is how many nanoseconds it has
// been on a processor.
func onProcessor(schedstat []byte) (time.Duration, bool) {
	field, _, ok := strings.Cut(string(schedstat), " ")
	used, err := strconv.ParseInt(field, 10, 64)
	return time.Duration(used), ok && err == nil
}

func readClock(f *os.File) (profile.ClockReading, bool) {
	var now unix.Timespec
	var text [64]byte
	n, _ := f.ReadAt(text[:], 0) // its end is an error, too
	used, ok := onProcessor(text[:n])
	if !ok || unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil { // which V8's is
		return profile.ClockReading{}, false
	}
	return profile.ClockReading{At: time.Duration(now.Nano()), Used: used}, true
}
