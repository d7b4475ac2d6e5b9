// Package profile is one model of what a process spent, by stack, whether Go's
// pprof or V8's profiler measured it. It finds the hot functions, whose code
// they are, the cost of each endpoint, and what changed between two profiles.
//
// It is pure: bytes in, results out. Package collect takes the profiles.
package profile

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Kind says what was spent.
type Kind string

// The kinds of profile.
const (
	CPU         Kind = "cpu"         // Value: nanoseconds on a core
	Allocations Kind = "allocations" // Value: bytes allocated; Objects: how many
	Mutex       Kind = "mutex"       // Value: nanoseconds waited for a lock; Objects: how often
	// Waits is the event loop's time, of Profile.Waits alone. Value: nanoseconds.
	Waits Kind = "waits"
)

// Noun says of what a profile of the kind is.
func (k Kind) Noun() string {
	return map[Kind]string{CPU: "CPU time", Allocations: "allocated bytes", Mutex: "time at locks"}[k]
}

// Runtime is what the process runs on.
type Runtime string

// The runtimes.
const (
	Go   Runtime = "go"
	Node Runtime = "node"
)

// Owner says whose code a function is.
type Owner uint8

// The owners.
const (
	Own      Owner = iota // the service's own code
	Library               // a dependency: a module, or something in node_modules
	Standard              // the language's standard library, Node's own modules
	System                // the runtime itself: scheduler, garbage collector, V8's native code
)

// Category says what kind of work a function is, where that is known by its name.
type Category string

// The categories. The zero value is ordinary work.
const (
	Work       Category = ""
	Collecting Category = "garbage collection" // including assists and write barriers
	Allocating Category = "allocation"
	Scheduling Category = "scheduling" // goroutine switches, timers, the poller
	Syscall    Category = "system calls"
	Encoding   Category = "encoding"   // JSON, protobuf, XML, base64, compression
	Formatting Category = "formatting" // fmt, util.inspect, string conversions
	Crypto     Category = "crypto"     // TLS, hashes
	Idle       Category = "idle"       // V8's (idle); never counted into a total
)

// Function is one function of the program.
type Function struct {
	Name     string // as its language writes it: "net/http.(*conn).serve", "handleCount"
	File     string // as short as it stays unambiguous; "" for native code
	Line     int    // where it begins; 0: not known
	Owner    Owner
	Category Category
	// Script is V8's name of what the function was read from, and Column where in
	// its Line it begins, from 1. Empty and 0 where V8 did not say.
	Script string
	Column int
	// Ends is its last line. 0: it is not known.
	Ends int
}

// Frame is a function on a stack, and the line that it was at.
type Frame struct {
	Function int32 // index into Profile.Functions
	Line     int32 // 0: not known
}

// Sample is what was spent at one stack.
type Sample struct {
	Stack   []Frame // the leaf first
	Value   int64   // in the Kind's unit
	Objects int64   // see Kind; 0 where it has none
	// Endpoint is the request's route ("GET /cache/{id}"): from pprof's label
	// "endpoint", or the route's handler on the stack. "": not known.
	Endpoint string
	// At is when it was taken, since Profile.Began. -1: not known (pprof).
	At time.Duration
	// Thread is 0 for the one that V8's event loop is on, and of other threads where the
	// profile has them: each worker's own, or -1.
	Thread int32
}

// Profile is what one process spent over a time.
type Profile struct {
	Kind      Kind
	Runtime   Runtime
	Began     time.Time
	Duration  time.Duration
	Functions []Function
	Samples   []Sample
	// Clock is V8's own clock when it began, which counts from no known moment.
	Clock time.Duration
	// MainClock are readings of the CPU clock of the thread that the event loop is on, in
	// order. None: it was not read.
	MainClock []ClockReading
	// Turns are the moments at which one turn of the event loop ended and the next began,
	// in order, as far as they are known.
	Turns []time.Duration
	// Cut says that whose turn it is was not noted to the profile's end.
	Cut bool
	// Lines says how V8's lines came about, where V8 was asked.
	Lines Lines
	// Service names the process, for headings. May be "".
	Service string
	// Requests is how many requests each endpoint served meanwhile, where
	// that is known; "" is all of those that are not distinguished.
	Requests map[string]int64
	// Routes are the endpoints that the process's routers or sources name, with a sample or
	// without one: requests of a route that was not sampled are its own, not a catch-all's.
	Routes []string
	// Paths are the endpoints that no router's table has and that are named after the path
	// of their requests: of two that differ in one part of it, that part may be a key.
	Paths map[string]bool

	frames int // of what was added by Append
}

// Lines is how a profile's lines came about.
type Lines string

// The ways of a live V8 profile. Others have none.
const (
	// Cheap are those that V8 had. Functions that it inlined before it was profiled
	// count for the line that they were inlined into.
	Cheap Lines = "cheap"
	// Exact are those of code that was optimized anew for the profile.
	Exact Lines = "exact"
)

// Total is the sum of all samples, without Idle ones.
func (p *Profile) Total() int64 {
	var sum int64
	for _, s := range p.Samples {
		if len(s.Stack) > 0 && p.Functions[s.Stack[0].Function].Category == Idle {
			continue
		}
		sum += s.Value
	}
	return sum
}

// IsWhole reports whether every frame is of a function that the profile has.
func (p *Profile) IsWhole() bool {
	for i := range p.Samples {
		if slices.ContainsFunc(p.Samples[i].Stack, func(f Frame) bool { return f.Function < 0 || int(f.Function) >= len(p.Functions) }) {
			return false
		}
	}
	return true
}

// RelativeTo shortens the paths of the service's own files to what they are
// from a folder on, where they lie below it. folder is absolute.
func (p *Profile) RelativeTo(folder string) {
	prefix := strings.TrimSuffix(folder, "/") + "/"
	for i := range p.Functions {
		if f := &p.Functions[i]; f.Owner == Own {
			f.File = strings.TrimPrefix(f.File, prefix)
		}
	}
}

// CapTotal makes the samples' sum at most what the process's own clock says it
// used. V8 samples by the wall's clock: on a busy machine, time in which the
// process waited for a core would count as its work.
func (p *Profile) CapTotal(used time.Duration) {
	total := p.Total()
	if used <= 0 || total <= int64(used) {
		return
	}
	for i := range p.Samples {
		p.Samples[i].Value = int64(float64(p.Samples[i].Value) * float64(used) / float64(total))
	}
}

// FitTotal makes the samples' sum what the clock of their thread says it used. Each
// sample counts alike: the time from one to the next is longer where the thread waited
// for a core. V8 calls a thread idle whose event loop reads from its sockets; so, where
// the samples are fewer than what was used by more than chance (two standard deviations
// of a share), the rest was not sampled, and is of nobody that is known.
func (p *Profile) FitTotal(used time.Duration) {
	if used <= 0 {
		return
	}
	var working []*Sample
	for i := range p.Samples {
		if s := &p.Samples[i]; p.CategoryOf(s) != Idle {
			working = append(working, s)
		}
	}
	n, all := float64(len(working)), float64(max(len(p.Samples), 1))
	each := float64(p.Duration) / all
	fit := float64(used)
	if missing := fit - n*each; missing > 2*each*math.Sqrt(n*(1-n/all)+1) {
		fit = n * each
	}
	for _, s := range working {
		s.Value = int64(fit / n)
	}
	if left := used - time.Duration(fit); left > 0 {
		p.Samples = append(p.Samples, Sample{Stack: []Frame{{Function: p.AddFunction("(not sampled)", Work)}}, Value: int64(left), At: p.Duration})
	}
}

// AddFunction adds a function of the runtime's, and gives its index.
func (p *Profile) AddFunction(name string, category Category) int32 {
	p.Functions = append(p.Functions, Function{Name: name, Owner: System, Category: category})
	return int32(len(p.Functions) - 1)
}

// interner gives the index in p.Functions of what stands for a function, which it adds
// where it is new.
func interner[K comparable](p *Profile, function func(K) Function) func(K) int32 {
	index := map[K]int32{}
	return func(k K) int32 {
		i, ok := index[k]
		if !ok {
			i = int32(len(p.Functions))
			index[k] = i
			p.Functions = append(p.Functions, function(k))
		}
		return i
	}
}

// AddThread adds the profile of another thread of the process, below a function of the
// given name.
func (p *Profile) AddThread(of *Profile, name string, thread int32) {
	first := int32(len(p.Functions))
	p.Functions = append(p.Functions, of.Functions...)
	root := p.AddFunction(name, Work)
	for _, s := range of.Samples {
		stack := make([]Frame, 0, len(s.Stack)+1)
		for _, f := range s.Stack {
			stack = append(stack, Frame{f.Function + first, f.Line})
		}
		s.Stack, s.Thread, s.At = append(stack, Frame{Function: root}), thread, s.At+of.Clock-p.Clock
		p.Samples = append(p.Samples, s)
	}
}

// AddOther adds what was spent where no profiler looks.
func (p *Profile) AddOther(name string, spent time.Duration, samples int64) {
	p.Samples = append(p.Samples, Sample{
		Stack: []Frame{{Function: p.AddFunction(name, Work)}}, Value: int64(spent), Objects: max(samples, 1), At: p.Duration, Thread: -1,
	})
}

// Elsewhere is what was spent where no profiler looks, of no endpoint.
func (p *Profile) Elsewhere() (sum time.Duration) {
	for i := range p.Samples {
		if s := &p.Samples[i]; s.Thread < 0 && s.Endpoint == "" {
			sum += time.Duration(s.Value)
		}
	}
	return sum
}
