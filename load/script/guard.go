package script

import (
	"runtime/metrics"
	"sync"
	"time"

	"whittle"
)

// guard interrupts a script that takes too long or too much memory. The engine cannot
// count what a script holds, so the process's heap is looked at, while a call goes on
// and every few hundred calls.
type guard struct {
	limits Options
	vm     *VM

	mu sync.Mutex
	// The following is guarded by mu.
	running bool
	began   time.Time
	timer   *time.Timer
	calls   int
	base    uint64 // the heap before the first call
}

const (
	guardEvery = 20 * time.Millisecond
	heapEvery  = 256 // calls
)

// enter begins a call. leave ends it.
func (g *guard) enter() (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.base == 0 {
		g.base = heapBytes()
	}
	if g.calls++; g.calls%heapEvery == 0 && g.tooLarge() {
		return nil, g.heapError()
	}
	g.running, g.began = true, time.Now()
	if g.timer == nil {
		g.timer = time.AfterFunc(guardEvery, g.look)
	} else {
		g.timer.Reset(guardEvery)
	}
	return g.leave, nil
}

func (g *guard) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = false
	g.timer.Stop()
	g.vm.ClearInterrupt()
}

// look is called while a call may be running.
func (g *guard) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.running {
		return
	}
	switch {
	case time.Since(g.began) > g.limits.CallTime:
		g.vm.Interrupt(whittle.Errorf(whittle.ResourceExhausted, "it ran for more than %v without a pause", g.limits.CallTime))
	case g.tooLarge():
		g.vm.Interrupt(g.heapError())
	}
	g.timer.Reset(guardEvery)
}

func (g *guard) tooLarge() bool {
	now := heapBytes()
	return now > g.base && now-g.base > g.limits.MaxHeap
}

func (g *guard) heapError() error {
	return whittle.Errorf(whittle.ResourceExhausted, "the process has grown by more than %d MiB while scripts ran", g.limits.MaxHeap>>20)
}

// heapBytes is what the process's heap holds, garbage included.
func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
