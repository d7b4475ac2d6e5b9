package workers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"whittle"
	"whittle/load"
	"whittle/load/expr"
	"whittle/load/plan"
)

// Worker runs parts of plans that coordinators order.
type Worker struct {
	Link
	// Name is what coordinators call it: no other worker of theirs has it.
	Name string
	// Say is told what an operator should know, from one goroutine. Nil: nothing.
	Say func(text string)

	id    string
	epoch time.Time // where its clock begins
	conn  *client.Conn
	in    chan *client.Msg
	lost  chan struct{} // the connection
	ready chan outcome  // of reading a plan
	over  chan outcome  // of a part
	quit  chan struct{} // closed once Serve receives neither of them
	work  sync.WaitGroup

	// The following belongs to Serve.
	job     *job // nil: there is none
	leaving int  // parts that were let go and have not ended
	heard   time.Time
	refused string // the run that was refused last
}

// job is a part of a run.
type job struct {
	run    string
	part   plan.Part
	begun  bool
	ended  bool // its part is over
	stop   context.CancelFunc
	reply  *client.Msg  // who waits for the plan to be read
	files  *unpacked    // once it is
	runner *load.Runner // once it is, and could be
	failed string
	result []byte

	mu sync.Mutex
	// The following is guarded by mu.
	number int64
	lines  []line
}

// outcome is the result of reading a plan or of running a part, which go on outside of
// Serve's goroutine.
type outcome struct {
	*job
	files  *unpacked
	runner *load.Runner
	result []byte
	early  bool
	err    error
}

// maxLines bounds the lines that a part says at once; others are dropped.
const maxLines = 100

// maxLine bounds each of them, in bytes.
const maxLine = 2000

// Serve waits for orders and carries them out, one run after the other, until ctx ends.
func (w *Worker) Serve(ctx context.Context) error {
	if !isName(w.Name) {
		return whittle.Errorf(whittle.Invalid, "a worker's name has 1 to %d bytes, all of them printable", maxName)
	}
	if err := w.check(); err != nil {
		return err
	}
	w.id, w.epoch = rand.Text(), time.Now()
	w.in, w.ready, w.over, w.quit = make(chan *client.Msg, queued), make(chan outcome), make(chan outcome), make(chan struct{})
	var err error
	if w.conn, w.lost, err = w.connect(ctx, "whittle worker "+w.Name); err != nil {
		return err
	}
	defer w.conn.Close()
	for _, subject := range []string{w.Subject + ".all", w.Subject + ".to." + w.id} {
		if _, err := w.conn.ChanSubscribe(subject, w.in); err != nil {
			return whittle.Errorf(whittle.Unavailable, "listen at NATS: %w", err)
		}
	}
	defer w.work.Wait()
	w.say("%s waits for orders at %s", w.Name, w.NATS.Servers)
	w.loop(ctx)
	return nil
}

func (w *Worker) say(format string, args ...any) {
	if w.Say != nil {
		w.Say(fmt.Sprintf(format, args...))
	}
}

func (w *Worker) now() time.Duration { return time.Since(w.epoch) }

func (w *Worker) loop(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			w.end("it was ended")
			close(w.quit) // also for what goes on of a job that was let go
			if w.job != nil {
				w.work.Wait()
				w.tell(w.job, message{Over: true, Failed: w.job.failed})
				_ = w.conn.FlushTimeout(time.Second)
			}
			return
		case m := <-w.in:
			w.take(m)
		case <-w.lost:
			w.say("the connection to NATS is lost")
			w.end("it lost the connection to NATS")
		case o := <-w.ready:
			w.prepared(o)
		case o := <-w.over:
			w.finished(o)
		case <-ticker.C:
			w.tick()
		}
	}
}

// tick says that the worker is there, and lets go of a coordinator that is not.
func (w *Worker) tick() {
	if w.job == nil {
		return
	}
	if time.Since(w.heard) > silence {
		w.say("nothing was heard of the coordinator for %v: its run is ended", silence)
		w.end("it heard nothing of the coordinator for " + silence.String())
		w.forget()
		return
	}
	if w.job.begun && !w.job.ended {
		w.tell(w.job, message{})
	}
}

// end ends the part under way. The first reason counts.
func (w *Worker) end(why string) {
	if j := w.job; j != nil && !j.ended {
		j.failed = cmp.Or(j.failed, why)
		j.stop()
	}
}

// forget lets the job go. What goes on of it ends by itself.
func (w *Worker) forget() {
	w.job.stop()
	if w.job.begun && !w.job.ended {
		w.leaving++
	}
	w.job = nil
}

// tell says how a job goes on.
func (w *Worker) tell(j *job, m message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	m.Run, m.Kind, m.ID, m.Number, m.Lines = j.run, toSay, w.id, j.number, j.lines
	j.lines = nil
	// Without a connection it is lost, and its number says so.
	_ = w.conn.Publish(w.Subject+".from."+j.run, w.encode(m))
}

// take carries out a message.
func (w *Worker) take(raw *client.Msg) {
	m, err := w.decode(raw.Data)
	switch {
	case errors.Is(err, errVersion):
		if m.Kind == toCall && m.Run != w.refused {
			w.refused = m.Run
			w.say("a coordinator is not joined, of %v", err)
			w.join(m.Run)
		}
		return
	case err != nil:
		w.say("%v", err)
		return
	}
	if m.Kind == toCall {
		if w.job == nil || w.job.run != m.Run {
			w.join(m.Run)
		}
		return
	}
	if m.Kind == toPrepare && !w.busy() {
		w.prepare(m, raw)
		return
	}
	if m.Kind == toRefuse {
		w.say("the coordinator refuses this worker: %.500s", m.Failed)
	}
	if j := w.job; j != nil && j.run == m.Run {
		w.heard = time.Now()
		w.order(j, m, raw)
		return
	}
	switch {
	case raw.Reply == "":
	case m.Kind == toPrepare:
		w.respond(raw, message{Failed: "it is busy with another run, which has begun meanwhile"})
	default:
		w.respond(raw, message{Failed: "it is not of that run any more"})
	}
}

// order carries out what the coordinator of the job says.
func (w *Worker) order(j *job, m *message, raw *client.Msg) {
	switch m.Kind {
	case toPulse:
		switch {
		case m.End && !j.begun:
			w.forget()
		case m.End:
			j.stop()
		}
	case toClock:
		w.respond(raw, message{Clock: w.now()})
	case toStart:
		w.respond(raw, message{Failed: w.begin(j, m)})
	case toGive:
		_ = raw.Respond(piece(w.conn, j.result, m.From))
		if m.From < 0 { // the coordinator has it
			w.say("done")
			w.forget()
		}
	}
}

func (w *Worker) respond(raw *client.Msg, m message) {
	_ = raw.Respond(w.encode(m)) // a coordinator that does not get it asks again, or gives up
}

func (w *Worker) busy() bool { return w.job != nil || w.leaving > 0 }

// join says that the worker is there.
func (w *Worker) join(run string) {
	_ = w.conn.Publish(w.Subject+".from."+run, w.encode(message{Run: run, Kind: toJoin, ID: w.id, Name: w.Name, Busy: w.busy()}))
}

// prepare reads the plan, on a goroutine of its own.
func (w *Worker) prepare(m *message, raw *client.Msg) {
	j := &job{run: m.Run, part: m.Part, reply: raw}
	var ctx context.Context
	ctx, j.stop = context.WithCancel(context.Background())
	w.job, w.heard = j, time.Now()
	w.work.Go(func() {
		o := outcome{job: j}
		o.err = w.read(ctx, &o, m.Blob)
		o.pass(w.ready, w.quit)
	})
}

// pass gives the outcome to Serve, unless that is over.
func (o outcome) pass(to chan outcome, quit chan struct{}) {
	select {
	case to <- o:
	case <-quit:
	}
}

// read fetches the plan's files and reads them.
func (w *Worker) read(ctx context.Context, j *outcome, b blob) error {
	packed, err := fetch(b, maxBundle+maxManifest, func(from int) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, responseWithin)
		defer cancel()
		r, err := w.conn.RequestWithContext(ctx, w.Subject+".files."+j.run, w.encode(message{From: from}))
		if err != nil {
			return nil, whittle.Errorf(whittle.Unavailable, "fetch the plan's files: %w", err)
		}
		return r.Data, nil
	})
	if err != nil {
		return err
	}
	if j.files, err = unpack(packed); err != nil {
		return err
	}
	t := &j.files.order
	t.Workload.Files, t.Workload.Getenv = j.files, j.files.Getenv
	p, err := t.Workload.Read()
	if err != nil {
		return err
	}
	o := t.Options
	o.Part, o.OnLog = j.part, j.log
	j.files.settled()
	j.runner, err = load.NewRunner(p, o)
	return err
}

// log takes a line of the plan's; what is too much at once is dropped.
func (j *job) log(user int64, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) < maxLines {
		j.lines = append(j.lines, line{user, text[:min(len(text), maxLine)]})
	}
}

// prepared says what came of reading the plan.
func (w *Worker) prepared(o outcome) {
	j := o.job
	if o.err != nil {
		w.respond(j.reply, message{Failed: o.err.Error()})
		w.say("the plan cannot be run: %v", o.err)
		if w.job == j {
			w.forget()
		}
		return
	}
	j.stop() // its context was of the reading
	j.files, j.runner = o.files, o.runner
	w.respond(j.reply, message{Names: j.runner.Names()})
}

// begin starts the part, at a time of the worker's clock. It says why it cannot.
func (w *Worker) begin(j *job, m *message) (failed string) {
	switch late := w.now() - m.Clock; {
	case j.runner == nil || j.begun:
		return "it has no plan to begin"
	case late > 0:
		return fmt.Sprintf("the order to begin came %v too late", late.Round(time.Microsecond))
	}
	var base []expr.Value
	for _, v := range m.Base {
		one := expr.Value{Text: v.Text, JSON: v.JSON}
		if d, ok := expr.ParseDocument(v.JSON); ok {
			one.Doc = d.Value().Doc
		}
		base = append(base, one)
	}
	j.begun = true
	var ctx context.Context
	ctx, j.stop = context.WithCancel(context.Background())
	w.say("runs part %d of %d of %s", j.part.Index+1, j.part.Of, j.runner.Plan())
	w.work.Go(func() {
		p, err := j.runner.RunPart(ctx, load.PartStart{
			Start: w.epoch.Add(m.Clock), Base: base, GivesUp: standstill,
			OnSample: func(s *load.Sample) { w.tell(j, message{Sample: s}) },
		})
		o := outcome{job: j, err: err}
		if err == nil {
			o.early = p.Early
			o.result, o.err = json.Marshal(p)
		}
		o.pass(w.over, w.quit)
	})
	return ""
}

// finished says that the part is over. The coordinator asks for the result.
func (w *Worker) finished(o outcome) {
	j := o.job
	if w.job != j {
		w.leaving--
		return
	}
	if o.err != nil {
		j.failed = cmp.Or(j.failed, o.err.Error())
	}
	j.ended, j.result = true, o.result
	w.tell(j, message{Over: true, End: o.early, Failed: j.failed, Blob: blobOf(j.result), Lacks: j.files.lacks()})
	if j.failed != "" {
		w.say("the part has failed: %s", j.failed)
		w.forget()
	}
}
