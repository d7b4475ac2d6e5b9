package load

import (
	"context"
	"time"

	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/report"
)

// meter measures the CPU time of the processes and servers that a run watches.
type meter struct {
	watch     []cpu.Process
	processes []*cpu.Watch
	pages     []*cpu.Page // read by themselves between start and finish
}

// openMeter takes the first readings.
func openMeter(ctx context.Context, o *Options) (*meter, error) {
	m := &meter{watch: o.Watch}
	var err error
	if m.processes, err = cpu.WatchProcesses(o.Watch); err != nil {
		return nil, err
	}
	if m.pages, err = cpu.OpenPages(ctx, o.WatchURLs); err != nil {
		return nil, err
	}
	return m, nil
}

// restart takes the first readings again, so that the CPU time of the flow before the
// run is not counted.
func (m *meter) restart(ctx context.Context) (err error) {
	for _, s := range m.pages {
		if err := s.Open(ctx); err != nil {
			return err
		}
	}
	m.processes, err = cpu.WatchProcesses(m.watch)
	return err
}

func (m *meter) start(ctx context.Context) {
	for _, s := range m.pages {
		s.Start(ctx)
	}
}

func (m *meter) finish() {
	for _, s := range m.pages {
		s.Finish()
	}
}

func (m *meter) sample() {
	for _, w := range m.processes {
		w.Sample()
	}
}

// used is the CPU time of all together since the first readings.
func (m *meter) used() time.Duration {
	sum := time.Duration(0)
	for _, w := range m.processes {
		used, _ := w.Used()
		sum += used
	}
	for _, s := range m.pages {
		used, _ := s.Used()
		sum += used
	}
	return sum
}

// fill sets the figures in a report whose responses are counted.
func (m *meter) fill(r *report.Report) {
	add := func(name string, pid int, used time.Duration, ended bool) {
		p := report.ProcessReport{Name: name, PID: pid, CPU: latency.Milliseconds(used), Ended: ended}
		if r.Completed > 0 {
			p.CPUPerRequest = p.CPU / float64(r.Completed)
		}
		r.CPUPerRequest += p.CPUPerRequest
		r.Processes = append(r.Processes, p)
	}
	for _, w := range m.processes {
		used, gone := w.Used()
		add(w.Name, w.PID, used, gone)
	}
	for _, s := range m.pages {
		used, gone := s.Used()
		add(s.Name(), 0, used, gone)
	}
}
