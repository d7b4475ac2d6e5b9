package cpu

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"sync"
	"time"

	"whittle"
	"whittle/profile"
)

// profileWindow is the shortest CPU profile that net/http/pprof takes. The length
// of a run is not known beforehand, so it is profiled window by window.
const profileWindow = time.Second

// profilePeriod is the CPU time that a sample stands for: Go takes 100 a second.
const profilePeriod = 10 * time.Millisecond

// maxProfileBytes bounds one window's profile.
const maxProfileBytes = 32 << 20

// profilePage sums up the samples of a server's CPU profiles.
type profilePage struct {
	page
	done chan struct{} // closed: no further window
	wg   sync.WaitGroup

	mu sync.Mutex
	// The following is guarded by mu.
	began         time.Time
	sum, profiled time.Duration
	wall          time.Duration // from began to the end of the last window
	gone          bool
}

func newProfilePage(u *url.URL) *profilePage {
	at := *u
	at.Path = "/debug/pprof/profile"
	at.RawQuery = fmt.Sprintf("seconds=%d", int(profileWindow.Seconds()))
	return &profilePage{page: newPage(&at, profileWindow+5*pageTimeout), done: make(chan struct{})}
}

// Open takes a window that is not counted, so that a server without profiles, or
// with a profile under way, is an error before anything is sent.
func (p *profilePage) Open(ctx context.Context) error {
	_, err := p.read(ctx)
	return err
}

// Reopen does nothing: counting begins with Start.
func (*profilePage) Reopen(context.Context) error { return nil }

func (p *profilePage) Start(ctx context.Context) {
	p.began = time.Now()
	ctx = context.WithoutCancel(ctx)
	p.wg.Go(func() {
		for {
			taken, err := p.read(ctx)
			p.add(taken, err)
			if err == nil {
				select {
				case <-p.done:
					return
				default:
					continue
				}
			}
			again := time.NewTimer(sampleEvery)
			select {
			case <-p.done:
				again.Stop()
				return
			case <-again.C:
			}
		}
	})
}

// Finish waits for the current window. It includes some time after the run, in
// which the server is idle.
func (p *profilePage) Finish() {
	close(p.done)
	p.wg.Wait()
}

func (p *profilePage) add(taken *profile.Profile, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone = err != nil; p.gone {
		return
	}
	p.sum += time.Duration(taken.Total())
	p.profiled += taken.Duration
	p.wall = time.Since(p.began)
}

// Used extrapolates from the windows over the gaps between them.
func (p *profilePage) Used() (d time.Duration, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.profiled <= 0 {
		return 0, p.gone
	}
	return time.Duration(float64(p.sum) * max(float64(p.wall)/float64(p.profiled), 1)), p.gone
}

// Note states the sampling error of the figure.
func (p *profilePage) Note() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := int64(p.sum / profilePeriod)
	return fmt.Sprintf("the CPU time of %s is of %d samples: right to about %.2g %%, twice the standard error",
		p.name, n, 200/math.Sqrt(float64(max(n, 1))))
}

func (p *profilePage) read(ctx context.Context) (*profile.Profile, error) {
	b, err := p.get(ctx, maxProfileBytes, "a process has one CPU profile at a time; --watch-pid and a metrics page need none")
	if err != nil {
		return nil, err
	}
	taken, err := profile.ReadPprof(b, profile.CPU)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "watch %s: %w", p.name, err)
	}
	return taken, nil
}
