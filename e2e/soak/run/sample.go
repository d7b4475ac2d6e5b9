package run

import "whittle/e2e/process"

// Sample is what a gateway's process holds at a moment.
type Sample struct {
	Goroutines float64
	// Files are open.
	Files float64
}

// sample asks a process what it holds; false: it is not there.
func (g *gateway) sample() (s Sample, ok bool) {
	all := process.Metrics(g.admin)
	s = Sample{all["go_goroutines"], all["process_open_fds"]}
	return s, s.Goroutines > 0 && s.Files > 0
}
