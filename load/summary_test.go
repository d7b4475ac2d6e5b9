package load

import (
	"context"
	"net"
	"runtime"
	"testing"

	"whittle/internal/fatal"
	"whittle/load/report"
)

// A thousand users wait for a server that never responds: what they take is
// bounded by 30 KB each, the server's end of the connections included.
func TestAVirtualUserIsSmall(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				for _, c := range held {
					c.Close()
				}
				return
			}
			held = append(held, c)
		}
	}()
	defer func() {
		l.Close()
		<-accepted
	}()
	const users = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := parsed(t, `
config: {phases: [{duration: 0.5, arrivalCount: 1000}, {pause: 1}], http: {timeout: 60}}
scenarios: [{flow: [{post: {url: /, json: {times: "{{ $randomNumber(1, 9) }}"}}}]}]`)
	seen := false
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	_, err = Run(ctx, p, Options{Target: "http://" + l.Addr().String(), Grace: -1, OnProgress: func(p report.Progress) {
		if p.InFlight == users && !seen {
			seen = true
			runtime.GC()
			runtime.ReadMemStats(&after)
			enough()
		}
	}})
	fatal.If(t, err)
	if !seen {
		t.Fatal("the thousand users were never under way at once")
	}
	grown := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)
	// The histograms of the run are not a user's; there are at most so many.
	const histogram = 190 << 10
	grown -= histogram * int64(3+recentTicks+4*min(runtime.GOMAXPROCS(0), 8))
	if each := grown / users; each > 30<<10 {
		t.Errorf("%d bytes for each virtual user", each)
	} else {
		t.Logf("%d bytes for each virtual user", each)
	}
}
