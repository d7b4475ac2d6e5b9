package collect

import (
	"context"
	_ "embed"
	"encoding/json"
	"path"
	"strings"
	"time"

	"whittle/profile"
)

// threadsSource reads what a process's threads have used: see there.
//
//go:embed threads.js
var threadsSource string

// usage is what a process and its threads have used until a moment.
type usage struct {
	Process float64 `json:"process"` // in nanoseconds
	Self    int     `json:"self"`    // the thread that was asked. 0: not known
	Threads []struct {
		ID   int     `json:"id"`
		Name string  `json:"name"`
		CPU  float64 `json:"cpu"`
	} `json:"threads"`
}

func (i *inspector) usage(ctx context.Context) usage {
	var text string
	var u usage
	if i.evaluateStill(ctx, threadsSource, &text) != nil || json.Unmarshal([]byte(text), &u) != nil {
		return usage{}
	}
	return u
}

// of is what a thread has used.
func (u *usage) of(id int) time.Duration {
	for _, t := range u.Threads {
		if t.ID == id {
			return time.Duration(t.CPU)
		}
	}
	return 0
}

// worker is a worker thread of a Node process, by a session within the session.
type worker struct {
	session, name string
	thread        int // Linux's id of it. 0: not known
	gone          bool
	began         bool
	forgot        bool              // what was optimized before
	clock         *threadClock      // nil: it is not read
	replies       map[int]*response // by id
}

// attach opens sessions to the process's worker threads.
func (i *inspector) attach(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	i.workers = map[string]*worker{}
	if i.call(ctx, "NodeWorker.enable", map[string]any{"waitForDebuggerOnStart": false}, nil) != nil {
		return
	}
	for _, w := range i.workers {
		var e evaluation
		if i.callWorker(ctx, w, "Runtime.evaluate", evaluated("+(process.getBuiltinModule?.('fs') ?? require('fs')).readlinkSync('/proc/thread-self').split('/').pop()"), &e) == nil {
			_ = e.value(&w.thread) // 0 where it is no Linux
		}
	}
}

// detach ends the sessions to the workers.
func (i *inspector) detach(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	_ = i.call(ctx, "NodeWorker.disable", nil, nil) // the session's end does, too
	for _, w := range i.workers {
		if w.clock != nil {
			w.clock.stop()
		}
	}
	i.workers = nil
}

// startWorkers begins a profile of each worker thread, and has V8 forget a thread's
// optimized code the first time, unless cheap lines are asked for: see forgetOptimized. A
// look at the main thread says nothing of a worker's functions, and what a pool waits for
// is in few of them.
func (i *inspector) startWorkers(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	for _, w := range i.workers {
		if w.clock == nil && w.thread != 0 && i.pid != 0 {
			w.clock = readThread(ctx, i.pid, w.thread, max(workerClockEvery, d/workerReadings))
		}
		call := func(method string, params any) error { return i.callWorker(ctx, w, method, params, nil) }
		if w.began { // for a look: another begins only once it has ended
			_ = call("Profiler.stop", nil)
		}
		w.began = startProfiler(call) == nil
		if w.began && !w.forgot && i.lines != profile.Cheap {
			w.forgot = forgetOptimized(call) == nil
		}
	}
}

// stopWorkers adds the worker threads' profiles to that of the main thread.
func (i *inspector) stopWorkers(ctx context.Context, p *profile.Profile, before, after usage) (used time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responseTimeout)
	defer cancel()
	thread := int32(0)
	for _, w := range i.workers {
		var r struct {
			Profile json.RawMessage `json:"profile"`
		}
		if !w.began || i.callWorker(ctx, w, "Profiler.stop", nil, &r) != nil {
			continue
		}
		_ = i.callWorker(ctx, w, "Profiler.disable", nil, nil) // the session's end does, too
		of, err := profile.ReadV8CPU(r.Profile, p.Began)
		if err != nil {
			continue
		}
		if w.clock != nil {
			of.SetMainClock(w.clock.stop())
			of.MarkStill()
		}
		if cpu := after.of(w.thread) - before.of(w.thread); w.thread != 0 && before.of(w.thread) > 0 {
			of.FitTotal(cpu)
		}
		thread++
		used += time.Duration(of.Total())
		p.AddThread(of, "worker: "+w.name, thread)
	}
	return used
}

// others are the names of what threads do that run no JavaScript, by the beginnings of
// the threads' own; newer versions of Node name them.
var others = [][2]string{
	{"libuv-worker", "(other threads: libuv's pool)"},
	{"V8Worker", "(other threads: V8's helpers)"},
	{"DelayedTask", "(other threads: V8's helpers)"},
}

// otherThreads is what is spent where V8's profiler does not look.
const otherThreads = "(other threads)"

// addOthers adds what the process used in threads that run no JavaScript, so that the
// total is that of the process's own clock.
func addOthers(p *profile.Profile, before, after usage, known time.Duration) {
	left := time.Duration(after.Process-before.Process) - known
	if after.Process == 0 || left <= 0 {
		return
	}
	for _, kind := range others {
		var sum time.Duration
		for _, t := range after.Threads {
			if strings.HasPrefix(t.Name, kind[0]) {
				sum += time.Duration(t.CPU) - before.of(t.ID)
			}
		}
		if sum = min(sum, left); sum > 0 {
			p.AddOther(kind[1], sum, int64(sum/sampleEvery))
			left -= sum
		}
	}
	if left > 0 {
		p.AddOther(otherThreads, left, int64(left/sampleEvery))
	}
}

// heard takes an event of the workers' sessions.
func (i *inspector) heard(method string, params json.RawMessage) {
	var e struct {
		Session string `json:"sessionId"`
		Worker  struct {
			URL   string `json:"url"`
			Title string `json:"title"`
		} `json:"workerInfo"`
		Message string `json:"message"`
	}
	if i.workers == nil || json.Unmarshal(params, &e) != nil {
		return
	}
	switch w := i.workers[e.Session]; {
	case method == "NodeWorker.attachedToWorker" && len(i.workers) < maxWorkers:
		i.workers[e.Session] = &worker{session: e.Session, name: path.Base(strings.TrimPrefix(e.Worker.URL, "file://")), replies: map[int]*response{}}
	case w == nil:
	case method == "NodeWorker.detachedFromWorker":
		w.gone = true
	case method == "NodeWorker.receivedMessageFromWorker":
		var m response
		if json.Unmarshal([]byte(e.Message), &m) == nil && m.ID != 0 {
			w.replies[m.ID] = &m
		}
	}
}

// maxWorkers bounds how many worker threads are profiled, each by itself; the others
// count as other threads.
const maxWorkers = 64
