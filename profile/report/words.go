package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"whittle/internal/units"
	"whittle/profile"
)

// Sentence is the report's message.
func (r *Report) Sentence() string {
	if r.cpu == nil && len(r.Others) > 0 {
		return r.Others[0].sentence(r.name())
	}
	if r.cpu == nil || len(r.Sites) == 0 {
		switch {
		case r.cpu == nil || r.cpu.Total() == 0:
			return r.name() + " used no CPU time that was seen."
		case r.Samples < enoughForALine:
			return fmt.Sprintf("%s did so little that the profile has only %s: too few to say what for.", r.name(), units.Counted(r.Samples, "sample"))
		default:
			return fmt.Sprintf("%s used %s of a core, none of it for code of its own.", r.name(), units.Figure(r.Cores))
		}
	}
	top := r.Sites[0]
	if r.Samples < enoughForALine {
		return fmt.Sprintf("%s did so little that the profile has only %s: too few to name a line. %d of them at %s, in %s.",
			r.name(), units.Counted(r.Samples, "sample"), top.Samples, top.Where(), profile.ShortName(top.Function))
	}
	s := top.sentence("the CPU of " + r.name())
	for _, e := range r.Endpoints {
		if e.Name != "" && e.CPUPerRequest > 0 {
			s += fmt.Sprintf(" %s costs %s of CPU a request, %s of all.", e.Name, milliseconds(e.CPUPerRequest), units.Percent(e.Share))
			break
		}
	}
	return s
}

// percent gives a share of the profile in words, or a dash where there are too few
// samples for one.
func (r *Report) percent(share float64) string {
	if r.Samples < enoughForAShare {
		return "–"
	}
	return units.Percent(share)
}

// sentence says how much of something a line asks for.
func (s *Site) sentence(of string) string {
	where := fmt.Sprintf("by one line: %s, in %s", s.Where(), profile.ShortName(s.Function))
	if s.FunctionOnly {
		where = fmt.Sprintf("in one function: %s (%s)", profile.ShortName(s.Function), s.Where())
	}
	called := ""
	if s.Callee != "" {
		called = fmt.Sprintf(", %s by what it calls, %s", units.Percent(s.CalleeShare), profile.ShortName(s.Callee))
	}
	return fmt.Sprintf("%s of %s is asked for %s%s.", units.Percent(s.Share), of, where, called)
}

func (r *Report) name() string {
	if r.Service == "" {
		return "the process"
	}
	parts := strings.Split(r.Service, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// WriteFindings writes what matters for a terminal: the message, the smells, the
// way to the dearest line.
func (r *Report) WriteFindings(w io.Writer) error {
	var b strings.Builder
	r.findings(&b)
	r.way(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteSummary writes the report for a terminal: words first, then tables.
func (r *Report) WriteSummary(w io.Writer) error {
	var b strings.Builder
	r.findings(&b)
	if r.cpu != nil {
		fmt.Fprintf(&b, "\n%s (%s), %s s, %s of a core", r.name(), r.Runtime, units.Figure(r.Seconds), units.Figure(r.Cores))
		if r.Samples > 0 {
			b.WriteString(", " + units.Counted(r.Samples, "sample"))
		}
	} else {
		fmt.Fprintf(&b, "\n%s (%s)", r.name(), r.Runtime)
	}
	if r.Requests > 0 {
		fmt.Fprintf(&b, ", %d requests, %s of CPU each", r.Requests, milliseconds(r.CPUPerRequest))
	}
	b.WriteString(LinesWords(r.Lines) + "\n")
	if len(r.Parts) > 0 {
		parts := make([]string, len(r.Parts))
		for i, p := range r.Parts {
			parts[i] = p.Kind + " " + r.percent(p.Share)
		}
		fmt.Fprintf(&b, "%s\n", strings.Join(parts, ", "))
	}
	for _, t := range r.tables() {
		fmt.Fprintf(&b, "\n%s\n", t.Caption)
		WriteTable(&b, t.Head, t.Rows)
	}
	r.way(&b)
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "\nnote: %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// LinesWords say how a Node process's lines came about, to go on a sentence. "": it is
// no such process.
func LinesWords(l profile.Lines) string {
	return map[profile.Lines]string{
		profile.Cheap: "; lines as V8 has them (--lines exact also names what it inlined before)",
		profile.Exact: "; exact lines, of code that V8 optimized anew",
	}[l]
}

func (r *Report) findings(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", r.Sentence())
	for _, s := range r.Smells {
		fmt.Fprintf(b, "\n! %s: %s\n  %s\n  %s\n", s.Name, s.Title, s.Evidence, s.Advice)
	}
	if len(r.Smells) == 0 && r.cpu != nil {
		b.WriteString("\nNone of the known smells.\n")
	}
}

func (r *Report) way(b *strings.Builder) {
	sites := r.Sites
	if r.cpu == nil && len(r.Others) > 0 {
		sites = r.Others[0].Sites
	}
	if len(sites) > 0 {
		fmt.Fprintf(b, "\nThe way to %s (* your own code)\n", sites[0].Where())
		writeChain(b, sites[0].Chain)
	}
}

// shownOfOthers is how many frames of a stretch of others' code are shown at
// each end of it.
const shownOfOthers = 2

func writeChain(w io.Writer, chain []Frame) {
	for i := 0; i < len(chain); {
		end := i
		for end < len(chain) && !chain[end].Own {
			end++
		}
		if left := end - i - 2*shownOfOthers; left > 1 {
			writeFrames(w, chain[i:i+shownOfOthers])
			fmt.Fprintf(w, "    … %d more\n", left)
			i = end - shownOfOthers
		}
		writeFrames(w, chain[i:min(end+1, len(chain))])
		i = end + 1
	}
}

func writeFrames(w io.Writer, frames []Frame) {
	for _, f := range frames {
		mark := " "
		if f.Own {
			mark = "*"
		}
		fmt.Fprintf(w, "  %s %s  %s\n", mark, profile.ShortName(f.Function), f.Where())
	}
}

// WriteTable writes rows in columns, two spaces in, for a terminal.
func WriteTable(w io.Writer, head []string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "  "+strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(t, "  "+strings.Join(row, "\t"))
	}
	_ = t.Flush() // into a strings.Builder, which cannot fail, or what the caller checks
}

func milliseconds(ms float64) string {
	switch {
	case ms == 0:
		return "0"
	case ms >= 1000:
		return units.Figure(ms/1000) + " s"
	case ms >= 1:
		return units.Figure(ms) + " ms"
	}
	return units.Figure(ms*1000) + " µs"
}

// sentence is the message of a report that has no profile of the CPU.
func (o *Other) sentence(service string) string {
	if o.PerSecond == 0 {
		return fmt.Sprintf("This is a profile of %s, not of the CPU, and it is empty.", o.Kind.Noun())
	}
	s := fmt.Sprintf("This is a profile of %s, not of the CPU: %s in %s.", o.Kind.Noun(), o.amount(), service)
	if len(o.Sites) == 0 {
		return s + " None of it is of code of its own."
	}
	return s + " " + o.Sites[0].sentence("it")
}

// amount gives an Other's figure with its unit.
func (o *Other) amount() string {
	switch {
	case o.whole && o.Kind == profile.Allocations:
		return units.Figure(o.PerSecond/1e6) + " MB allocated"
	case o.whole:
		return units.Figure(o.PerSecond/1e9) + " s waited"
	case o.Kind == profile.Allocations:
		return units.Figure(o.PerSecond/1e6) + " MB/s allocated"
	}
	return units.Figure(o.PerSecond/1e9) + " goroutines at locks"
}
