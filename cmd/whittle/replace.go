package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/handover"
	"whittle/carve/state"
	"whittle/internal/listening"
)

// inherited is what a process has of the one that it replaces, or of systemd.
type inherited struct {
	sockets *listening.Set
	before  *handover.Predecessor // nil: it replaces none
}

func inherit() (in inherited, err error) {
	if in.sockets, err = listening.Inherited(); err != nil {
		return in, err
	}
	in.before, err = handover.Join()
	return in, err
}

// replacement is the part of a deployment that is about being replaced.
type replacement struct {
	inherited
	// requests are those to be replaced by another process.
	requests <-chan os.Signal
	// replaced is closed once another process has taken over, and left is called then.
	replaced chan struct{}
	left     func()
	after    *handover.Successor // that process; set before replaced is closed
	// endSoon is called when the process that has taken over ends as well.
	endSoon func()
	// released says that nobody decides here: what is observed counts as interrupted.
	released atomic.Bool
	// reloading is held while a config is put in force, and while another process is
	// about to take over. missed says that a config was not read meanwhile.
	reloading sync.Mutex
	missed    atomic.Bool

	stopDecisions context.CancelFunc
	decided       chan error

	mu        sync.Mutex                  // guards the following
	positions map[string]whittle.Position // that were last put in force
}

func newReplacement(in inherited) replacement {
	return replacement{inherited: in, replaced: make(chan struct{}), positions: map[string]whittle.Position{}}
}

func (r *replacement) isReplaced() bool {
	select {
	case <-r.replaced:
		return true
	default:
		return false
	}
}

// stateFile is the state file. It is closed while another process is about to take over, and
// opened again if that process fails.
type stateFile struct {
	mu sync.RWMutex // guards the following
	*state.Store
}

func (s *stateFile) open(path string, log *slog.Logger) error {
	store, err := openStore(path, log)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Store = store
	return err
}

// Load implements control.Store.
func (s *stateFile) Load(route string) (state.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.Store == nil {
		return state.Record{}, errNoState
	}
	return s.Store.Load(route)
}

// Save implements control.Store.
func (s *stateFile) Save(route string, r state.Record) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.Store == nil {
		return errNoState
	}
	return s.Store.Save(route, r)
}

var errNoState = whittle.Errorf(whittle.Unavailable, "the state file could not be opened again")

// Close lets go of the file; more than once does no harm.
func (s *stateFile) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	store := s.Store
	s.Store = nil
	if store == nil {
		return nil
	}
	return store.Close()
}

// recordedFirst is the config by which recording begins: another process may still have
// the folder.
func (d *deployment) recordedFirst(f *config.File) *config.File {
	if d.before == nil {
		return f
	}
	first := *f
	first.Record = nil
	return &first
}

// takeOver takes state and records over from the process that is to be replaced, which
// goes on if this fails.
func (d *deployment) takeOver(f *config.File) error {
	if d.before == nil {
		return nil
	}
	if err := d.before.Take(); err != nil {
		return whittle.Errorf(whittle.Unavailable, "take over: %w", err)
	}
	if err := d.store.open(f.State, d.log); err != nil {
		return err
	}
	return d.records.Put(f)
}

// commit tells the process that is to be replaced to accept no more connections. If it has
// ended meanwhile, it holds nothing any more.
func (d *deployment) commit() {
	if d.before == nil {
		return
	}
	if err := d.sockets.SetModes(); err != nil {
		d.log.Error("set the mode of a Unix socket that was taken over", "err", err)
	}
	begun := time.Now()
	if err := d.before.Commit(func(last map[string]int64) { d.ended(last, begun) }); err != nil {
		d.log.Error("the process that was to be replaced is gone", "err", err)
	}
	d.log.Info("took over", "pid", os.Getpid(), "from", os.Getppid())
}

// ended counts the requests of the process that was replaced which it has not saved. One that
// was killed has not said how many they are: then the ledger has a gap.
func (d *deployment) ended(last map[string]int64, since time.Time) {
	if last == nil {
		d.log.Error("the process that was replaced was killed: its last requests are not in the ledger")
		d.control.Missed(since, time.Now())
	}
	for route, n := range last {
		d.gateway.Interrupted(route, n)
	}
}

// follow puts in force what the process that has taken over has decided, whose numbers may be
// others than those here.
func (d *deployment) follow(route string, p whittle.Position) {
	d.mu.Lock()
	last := d.positions[route]
	d.mu.Unlock()
	p.Generation, p.Zero = last.Generation+1, last.Zero
	if p.Share == 0 {
		p.Zero = p.Generation
	}
	d.enforce(route, p)
}

// finish tells the process that has taken over how many requests came after the state was
// saved.
func (d *deployment) finish() {
	last := map[string]int64{}
	for _, route := range d.candidates() {
		last[route] = d.gateway.Counts(route).Ledger.Total - d.control.Told(route)
	}
	d.after.Finish(last)
}

// decide runs the controller until stopDeciding. It outlives the requests, so that what they
// showed is saved.
func (d *deployment) decide(ctx context.Context) {
	ctx, d.stopDecisions = context.WithCancel(context.WithoutCancel(ctx))
	decided := make(chan error, 1)
	d.decided = decided
	go func() {
		var steering sync.WaitGroup
		on, stop := context.WithCancel(context.WithoutCancel(ctx))
		steering.Go(func() { d.proxies.Run(on) })
		err := d.control.Run(ctx)
		stop() // after the last decision, which is still carried out
		steering.Wait()
		decided <- err
	}()
}

// stopDeciding ends what decide began. The error is of the last save.
func (d *deployment) stopDeciding() error {
	d.stopDecisions()
	return <-d.decided
}

// replaceOnRequest starts another process on each request, until one has taken over or ctx
// ends.
func (d *deployment) replaceOnRequest(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.requests:
			if err := d.replace(); err != nil {
				d.log.Error("not replaced: this process goes on serving", "err", err)
				d.afterFailure()
				continue
			}
			d.log.Info("replaced: this process ends when its clients have gone", "pid", os.Getpid())
			return nil
		}
	}
}

// afterFailure reads the config if it was to be read while another process was about to take
// over, which has not; and once more if it was to be read while this reads it.
func (d *deployment) afterFailure() {
	for d.missed.Load() {
		d.reloading.Lock()
		if d.missed.Swap(false) { // no reload has read it while this waited for the lock
			d.readAnew("it changed while another process was about to take over")
		}
		d.reloading.Unlock()
	}
}

// replace starts this command again and waits until the new process has taken over.
func (d *deployment) replace() error {
	if d.nats != nil {
		if why := d.nats.Trouble(); why != "" {
			return whittle.Errorf(whittle.FailedPrecondition, "the NATS server in this process would be away for a moment, which needs all the others: %s", why)
		}
	}
	path, err := program()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, os.Args[1:]...) //nolint:noctx // it is to outlive this process
	cmd.Env, cmd.Stdout, cmd.Stderr = os.Environ(), os.Stdout, os.Stderr
	if err := d.sockets.Pass(cmd); err != nil {
		return err
	}
	d.reloading.Lock() // a config in between would be in force in one of the two
	defer d.reloading.Unlock()
	ctx := context.Background()
	resume := func() {
		err := d.store.open(d.config().State, d.log)
		if d.nats != nil {
			err = errors.Join(err, d.nats.Resume())
		}
		if err = errors.Join(err, d.records.Put(d.config())); err != nil {
			d.log.Error("go on after another process did not take over", "err", err)
		}
		d.released.Store(false)
		d.decide(ctx)
	}
	return handover.Replace(cmd, handover.Hooks{
		Release: func() error {
			d.released.Store(true)
			if err := d.stopDeciding(); err != nil {
				d.released.Store(false)
				d.decide(ctx)
				return err
			}
			d.records.Close()
			d.endNATS() // its folder and its address are the other process's
			err := d.store.Close()
			if err != nil {
				resume() // or nobody decided any more, and the end would wait for it
			}
			return err
		},
		Resume: resume,
		Leave: func(s *handover.Successor) {
			d.after = s
			d.notify("MAINPID=" + strconv.Itoa(cmd.Process.Pid))
			close(d.replaced)
			d.gateway.Replace()
			d.left()
			d.leaveFleet()
		},
		Apply: d.follow,
		End:   d.endSoon,
		Lost: func() {
			d.log.Error("the process that took over is gone: what is still under way here is not compared, and the share stays")
		},
	})
}

// leaveFleet lets go of the fleet, once nobody decides here.
func (d *deployment) leaveFleet() {
	if d.part != nil {
		d.part.Close()
	}
}

// candidates are the names of the routes that have one.
func (d *deployment) candidates() []string {
	var names []string
	for _, r := range d.config().Routes {
		if r.Candidate != nil {
			names = append(names, r.Name)
		}
	}
	return names
}

// started is the folder in which this process was started.
var started, _ = os.Getwd()

// program is the path by which this process was started, which another binary may have
// by now.
func program() (string, error) {
	path, err := exec.LookPath(os.Args[0])
	if err == nil && !filepath.IsAbs(path) {
		path = filepath.Join(started, path)
	}
	return path, err
}

// notify tells systemd.
func (d *deployment) notify(state string) {
	if err := listening.Notify(state); err != nil {
		d.log.Warn("systemd could not be notified", "state", state, "err", err)
	}
}
