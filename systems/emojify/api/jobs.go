package api

import (
	"container/list"
	"sync"
	"time"

	"whittle"
)

const (
	rememberFailures = 10_000 // at most
	rememberFor      = 10 * time.Minute
)

// jobStatus is where the work on a picture is, as clients read it.
type jobStatus string

const (
	queued     jobStatus = "queued"
	processing jobStatus = "processing"
	finished   jobStatus = "finished"
	failed     jobStatus = "failed"
)

// progress is a job's status for its client.
type progress struct {
	ID     string    `json:"id"`
	Status jobStatus `json:"status"`
	// Position is the place in the queue, 1 the next; 0 where it waits no more.
	Position int64 `json:"position"`
	// Length is how many wait.
	Length int64 `json:"length"`
	// Error says why it failed.
	Error string `json:"error,omitempty"`
}

// job is the work on one picture. What it is made of never changes; jobs.mu
// guards the rest.
type job struct {
	id      string
	url     string // "": it was sent
	picture []byte // nil: it must be fetched
	release func() // releases the room that the picture took; may be nil

	status jobStatus
	place  uint64 // its number since the start, from 1
	why    string // of failed
	ended  time.Time
}

// jobs has those that wait, those under way, and what failed lately; what went
// well is in the cache.
type jobs struct {
	now   func() time.Time
	queue chan *job

	mu             sync.Mutex // guards the following, and sending to queue
	known          map[string]*job
	failures       *list.List // of *job, the first that failed in front
	entered, taken uint64     // the queue
	closed         bool
}

func newJobs(size int, now func() time.Time) *jobs {
	return &jobs{now: now, queue: make(chan *job, size), known: map[string]*job{}, failures: list.New()}
}

// find returns the progress of a picture that is not in the cache for all that
// is known here.
func (j *jobs) find(id string) (progress, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lockedForget()
	one, ok := j.known[id]
	if !ok {
		return progress{ID: id, Length: j.lockedLength()}, false
	}
	return j.lockedProgress(one), true
}

// active is find for what waits or is worked on.
func (j *jobs) active(id string) (progress, bool) {
	p, ok := j.find(id)
	return p, ok && p.Status != failed
}

// done is the progress of a picture that is in the cache.
func (j *jobs) done(id string) progress {
	return progress{ID: id, Status: finished, Length: j.length()}
}

// add queues a job, or joins the one for the same picture (joined: the job
// given is not used). Unavailable when the queue is full or closed.
func (j *jobs) add(one *job) (p progress, joined bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if other, ok := j.known[one.id]; ok && other.status != failed {
		return j.lockedProgress(other), true, nil
	}
	if j.closed {
		return progress{}, false, busy("the service is closing down")
	}
	select {
	case j.queue <- one:
	default:
		return progress{}, false, busy("%d pictures wait already", cap(j.queue))
	}
	j.entered++
	one.status, one.place = queued, j.entered
	j.known[one.id] = one
	return j.lockedProgress(one), false, nil
}

// take says that a worker has the job now.
func (j *jobs) take(one *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.taken = max(j.taken, one.place)
	one.status = processing
}

// end says what became of it; why is "" for what went well.
func (j *jobs) end(one *job, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	one.picture = nil
	if why == "" {
		delete(j.known, one.id)
		return
	}
	one.status, one.why, one.ended = failed, why, j.now()
	j.failures.PushBack(one)
	j.lockedForget()
}

func (j *jobs) lockedForget() {
	for j.failures.Len() > 0 {
		e := j.failures.Front()
		one := e.Value.(*job)
		if j.failures.Len() <= rememberFailures && j.now().Sub(one.ended) < rememberFor {
			return
		}
		j.failures.Remove(e)
		if j.known[one.id] == one { // and no later try
			delete(j.known, one.id)
		}
	}
}

func (j *jobs) lockedProgress(one *job) progress {
	p := progress{ID: one.id, Status: one.status, Length: j.lockedLength(), Error: one.why}
	if one.status == queued {
		// Two workers may say that they took theirs in either order.
		p.Position = max(int64(one.place)-int64(j.taken), 1)
	}
	return p
}

// lockedLength is what add let in and no worker has taken.
func (j *jobs) lockedLength() int64 { return int64(j.entered) - int64(j.taken) }

func (j *jobs) length() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lockedLength()
}

// close lets nothing more in; the queue ends after what is in it.
func (j *jobs) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.queue)
	}
}

// reasonOf is what a client reads of a failed job.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	code, text := public(err)
	if code == whittle.Canceled {
		return "the service closed down before it was done; send it again"
	}
	return text
}
