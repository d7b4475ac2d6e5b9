package load

import (
	"context"
	"time"

	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/report"
)

// meter measures the CPU time of the processes and servers that a run watches.
type meter struct{ watches []*cpu.Watch }

// openMeter takes the first readings.
func openMeter(ctx context.Context, o *Options) (*meter, error) {
	watches, err := cpu.Open(ctx, o.Watch, o.WatchURLs)
	return &meter{watches}, err
}

// restart takes the first readings again, so that the CPU time of the flow before the
// run is not counted.
func (m *meter) restart(ctx context.Context) error {
	for _, w := range m.watches {
		if err := w.Begin(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) start(ctx context.Context) {
	for _, w := range m.watches {
		w.Start(ctx)
	}
}

func (m *meter) finish() {
	for _, w := range m.watches {
		w.Finish()
	}
}

func (m *meter) sample() {
	for _, w := range m.watches {
		w.Sample()
	}
}

// used is the CPU time of all together since the first readings.
func (m *meter) used() time.Duration {
	sum := time.Duration(0)
	for _, w := range m.watches {
		used, _ := w.Used()
		sum += used
	}
	return sum
}

// fill sets the figures in a report whose responses are counted.
func (m *meter) fill(r *report.Report) {
	for _, w := range m.watches {
		used, gone := w.Used()
		p := report.ProcessReport{Name: w.Name, PID: w.PID, CPU: latency.Milliseconds(used), Ended: gone}
		if r.Completed > 0 {
			p.CPUPerRequest = p.CPU / float64(r.Completed)
		}
		r.CPUPerRequest += p.CPUPerRequest
		r.Processes = append(r.Processes, p)
	}
}
