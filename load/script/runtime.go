// Package script runs the JavaScript of load plans: processors of Artillery plans and
// samplers of JMeter plans. One Runtime holds the scripts of one plan and its users'
// state, and runs one call at a time, as Node does. There is no Node in it: modules are
// files of the plan's folder, and of Node's own modules those that plans use.
//
// A script cannot hold up a run: a call is interrupted after Options.CallTime, one that
// waits for a promise or a callback is given up after Options.WaitTime, the depth of
// calls and the growth of the heap are bounded, and what it prints is cut and counted. A
// Runtime makes its engine at the first call, so that one without scripts costs nothing.
package script

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/grafana/sobek"

	"whittle"
)

// VM is the engine, for whoever makes objects of his own. It may be used only within
// Invoke. Value and Object are its values.
type (
	VM     = sobek.Runtime
	Value  = sobek.Value
	Object = sobek.Object
)

// Options are the settings of a Runtime. The zero value has no files and no environment.
type Options struct {
	// Files is the plan's folder, from which modules and files are read. Nil: there
	// are none.
	Files fs.FS
	// Within is the path within Files from which scripts name the files that they read;
	// empty: its root.
	Within string
	// Getenv is a variable of process.env. Nil: none is set.
	Getenv func(string) (string, bool)
	// Console is called with each line that a script prints, by one goroutine at a
	// time. Nil: the lines are dropped.
	Console func(line string)
	// Seed makes Math.random repeatable. 0: a random seed.
	Seed uint64
	// CallTime bounds how long one piece of script runs. 0: 5 s.
	CallTime time.Duration
	// WaitTime bounds how long a call waits for a promise or a callback. 0: 60 s.
	WaitTime time.Duration
	// MaxHeap bounds how much the process's heap may grow while scripts run. 0: 1 GiB.
	MaxHeap uint64
}

// Bounds on scripts.
const (
	maxSource    = 8 << 20 // bytes of one module
	maxNesting   = 10_000  // brackets in brackets
	maxModules   = 5_000
	maxFile      = 64 << 20 // bytes of a file that a script reads
	maxLine      = 4 << 10  // bytes of one line of the console
	maxLines     = 10_000   // of the console
	maxCallDepth = 2_000
	maxTimers    = 10_000 // timers of a Runtime that are set at once
)

// Runtime is the scripts of one plan. It is safe for concurrent use: calls wait for each
// other.
type Runtime struct {
	options Options
	// turn is held by whoever runs script; all that follows belongs to him.
	turn    chan struct{}
	vm      *VM
	modules map[string]*Object // by the path within the plan's folder; builtins by name
	files   map[string]Value   // what they export, once they have been run
	timers  map[int64]*time.Timer
	timer   int64 // the number of the timer set last
	lines   int   // printed so far
	guard   guard
}

// New makes a Runtime, without an engine as yet.
func New(o Options) *Runtime {
	if o.CallTime == 0 {
		o.CallTime = 5 * time.Second
	}
	if o.WaitTime == 0 {
		o.WaitTime = time.Minute
	}
	if o.MaxHeap == 0 {
		o.MaxHeap = 1 << 30
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	r := &Runtime{options: o, turn: make(chan struct{}, 1), timers: map[int64]*time.Timer{}}
	r.guard.limits = o
	return r
}

// FolderFS is a plan's folder as Options.Files: what is in it, and nothing that a link
// leads to outside of it.
func FolderFS(dir string) (fs.FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "open the plan's folder: %w", err)
	}
	return root.FS(), nil
}

// Rest is called when a run is over: timers that are set do not fire, as they would not
// if the process had ended, and once it returns no script runs. Further calls may follow.
func (r *Runtime) Rest() {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	for id := range r.timers {
		r.clearTimer(id)
	}
}

// Invoke runs start, which calls done once, now or later, from within a script of the
// same Runtime; then, unless ctx has ended or Options.WaitTime has passed before, finish
// is run with the engine still held. Finish may be nil. The error is start's, done's or
// finish's. Waited is how long other calls held the engine before.
func (r *Runtime) Invoke(ctx context.Context, start func(vm *VM, done func(error)) error, finish func(vm *VM) error) (waited time.Duration, err error) {
	began := time.Now()
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	waited = time.Since(began)
	call := &pending{finish: finish, settled: make(chan struct{})}
	err = r.run(func(vm *VM) error {
		return start(vm, func(err error) { call.settle(vm, err) })
	})
	if err != nil {
		call.settle(nil, err)
	}
	select {
	case <-call.settled:
		<-r.turn
		return waited, call.err
	default:
	}
	<-r.turn
	return waited, call.wait(ctx, r.options.WaitTime)
}

// pending is a call whose result may come later. What finishes it runs with the engine
// held, and may come back to settle.
type pending struct {
	finish  func(*VM) error
	over    atomic.Bool   // it settles or has settled, or nobody waits any more
	settled chan struct{} // closed once err is there
	err     error
}

func (p *pending) settle(vm *VM, err error) {
	if p.over.Swap(true) {
		return
	}
	defer close(p.settled)
	if p.err = err; err == nil && p.finish != nil {
		p.err = errFailed // if it panics
		p.err = p.finish(vm)
	}
}

// errFailed is what a call ends with whose result the engine could not take.
var errFailed = whittle.Errorf(whittle.Internal, "the JavaScript engine failed")

func (p *pending) wait(ctx context.Context, most time.Duration) error {
	t := time.NewTimer(most)
	defer t.Stop()
	var why error
	select {
	case <-p.settled:
		return p.err
	case <-t.C:
		why = whittle.Errorf(whittle.Unavailable, "nothing came back within %v: a callback was not called, or a promise not settled", most)
	case <-ctx.Done():
		why = ctx.Err()
	}
	if p.over.Swap(true) {
		<-p.settled
		return p.err
	}
	return why
}

// run runs script within its bounds. The caller has the engine. A panic of the engine
// itself is an error of the script that caused it.
func (r *Runtime) run(do func(*VM) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = problem(fmt.Errorf("the JavaScript engine failed: %v", p))
		}
	}()
	if r.vm == nil {
		r.vm = r.newEngine()
		r.guard.vm = r.vm
	}
	leave, err := r.guard.enter()
	if err != nil {
		return err
	}
	defer leave()
	return problem(do(r.vm))
}

// newEngine makes the engine with its globals.
func (r *Runtime) newEngine() *VM {
	setMatchTime.Do(func() { regexp2.DefaultMatchTimeout = matchTime })
	vm := sobek.New()
	vm.SetMaxCallStackSize(maxCallDepth)
	vm.SetParserOptions(parserOptions...)
	rng := rand.New(rand.NewPCG(r.options.Seed, scriptStream))
	vm.SetRandSource(rng.Float64)
	r.modules, r.files = map[string]*Object{}, map[string]Value{}
	if _, _, err := r.builtin(vm, "globals"); err != nil {
		panic(err) // our own source
	}
	return vm
}

// matchTime bounds one match of a regular expression that backtracks, which cannot be
// interrupted. It is above a call's time, so that the call is interrupted behind it: a
// match that was given up looks like none.
const matchTime = 6 * time.Second

var setMatchTime sync.Once

// scriptStream is a random stream apart from those of users.
const scriptStream = 1<<63 + 2
