package foreign

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/profile"
)

var (
	// perfFrame is "	7f3a… work+0x1f (/usr/bin/shop)".
	perfFrame = regexp.MustCompile(`^\s*([0-9a-f]{3,16}) (.+) \((.*)\)\s*$`)
	// perfHead is "shop 4711/4712 [001] 12.345678:   10101010 cpu-clock:u:".
	perfHead = regexp.MustCompile(`^(\S.*?)\s+(\d+)(?:/(\d+))?\s(.*?)([\w.{}/=,-]+(?::[\w.*-]+)*):\s*$`)
	// perfTime and perfPeriod stand between a sample's process and its event.
	perfTime   = regexp.MustCompile(`(?:^|\s)(\d+\.\d+):`)
	perfPeriod = regexp.MustCompile(`(?:^|\s)(\d+)\s*$`)
	// perfLine follows a frame with -F +srcline.
	perfLine = regexp.MustCompile(`^\s+(\S+):(\d+)\s*$`)
	// perfOffset is where in a function the address is.
	perfOffset = regexp.MustCompile(`\+0x[0-9a-f]+$`)
)

// isPerf knows perf script's text by a sample's head with a frame behind it.
func isPerf(text []byte) bool {
	headed, n := false, 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0 || line[0] == '#':
		case headed && perfFrame.Match(line):
			return true
		default:
			headed = perfHead.Match(line)
		}
		if n++; n > 1000 {
			break
		}
	}
	return false
}

// perfSample is a sample while it is read.
type perfSample struct {
	stack []frame
	value int64   // 0: the event does not say
	at    float64 // seconds; -1: not known
	open  bool
	task  string
}

// readPerf reads what perf script prints. Events of the CPU's clock say how long each
// sample is; of others, such as cycles, each counts for what is usual between two of
// one thread.
func readPerf(text []byte) (*profile.Profile, error) {
	b := newBuilder()
	first, last := -1.0, -1.0
	before, gaps := map[string]float64{}, []float64{}
	var unknown []int // samples that count alike
	var s perfSample
	end := func() error {
		if !s.open {
			return nil
		}
		s.open = false
		inlined(s.stack)
		if s.at >= 0 && first < 0 {
			first = s.at
		}
		at := time.Duration(-1)
		if s.at >= first && first >= 0 && s.at-first < maxTotal/1e9 {
			at, last = time.Duration((s.at-first)*1e9), max(last, s.at)
		}
		if earlier, ok := before[s.task]; ok && s.at > earlier && len(gaps) < profile.MaxSamples {
			gaps = append(gaps, s.at-earlier)
		}
		if s.at >= 0 && len(before) < profile.MaxSamples {
			before[s.task] = s.at
		}
		if s.value == 0 {
			s.value = int64(perSample)
			unknown = append(unknown, len(b.p.Samples))
		}
		return b.add(s.stack, s.value, 1, at)
	}
	for raw := range bytes.Lines(text) {
		line := strings.TrimRight(string(raw), "\r\n")
		if line == "" {
			if err := end(); err != nil {
				return nil, err
			}
			continue
		}
		if line[0] == '#' {
			continue
		}
		if m := perfFrame.FindStringSubmatch(line); m != nil && s.open {
			if len(s.stack) < profile.MaxDepth {
				s.stack = append(s.stack, ofPerf(m[2], m[3]))
			}
			continue
		}
		if m := perfLine.FindStringSubmatch(line); m != nil && s.open && len(s.stack) > 0 {
			f := &s.stack[len(s.stack)-1]
			if n, err := strconv.Atoi(m[2]); err == nil && n > 0 {
				f.File, f.at = m[1], n
			}
			continue
		}
		if err := end(); err != nil {
			return nil, err
		}
		if m := perfHead.FindStringSubmatch(line); m != nil {
			if b.p.Service == "" {
				b.p.Service = m[1]
			}
			s = perfSample{open: true, at: -1, task: m[2] + "/" + m[3]}
			if t := perfTime.FindStringSubmatch(m[4]); t != nil {
				s.at, _ = strconv.ParseFloat(t[1], 64)
			}
			if period := perfPeriod.FindStringSubmatch(m[4]); period != nil && strings.Contains(m[5], "-clock") {
				if n, err := strconv.ParseInt(period[1], 10, 64); err == nil && n > 1 && n < maxTotal {
					s.value = n
				}
			}
		}
	}
	if err := end(); err != nil {
		return nil, err
	}
	if len(b.p.Samples) == 0 {
		return nil, whittle.Errorf(whittle.Invalid, "read perf script: no sample has a stack").WithHint("record them: perf record -g")
	}
	if last > first && last-first < maxTotal/1e9 {
		b.p.Duration = time.Duration((last - first) * 1e9)
	}
	b.p.Estimated = len(unknown) > 0
	if each := usual(gaps); each > 0 {
		for _, i := range unknown {
			if i < len(b.p.Samples) {
				b.p.Samples[i].Value = each
			}
		}
	}
	return b.done("perf script")
}

// enoughGaps is how many times between samples say what is usual.
const enoughGaps = 10

// usual is the median of the times between samples of one thread, in nanoseconds, at
// most perSample. 0: there are too few.
func usual(gaps []float64) int64 {
	if len(gaps) < enoughGaps {
		return 0
	}
	slices.Sort(gaps)
	return int64(min(max(gaps[len(gaps)/2]*1e9, 1), float64(perSample)))
}

// isInlined marks a frame of which perf says only that it was inlined.
const isInlined = "(inlined)"

// inlined gives inlined frames the owner of the function that they are in.
func inlined(stack []frame) {
	for i := len(stack) - 2; i >= 0; i-- {
		if stack[i].File == isInlined {
			stack[i].Owner, stack[i].File = stack[i+1].Owner, stack[i+1].File
		}
	}
}

// interpreters run other programs: their own functions are the runtime's.
var interpreters = regexp.MustCompile(`^(node|nodejs|python[\d.]*|pypy[\d.]*|java|ruby[\d.]*|perl[\d.]*|php[\w.-]*|beam\.smp|perf)$`)

// runtimeLibrary is a runtime in a library of its own.
var runtimeLibrary = regexp.MustCompile(`^lib(jvm|jli|node|v8|python[\d.]*|ruby[\d.]*|perl|php[\d.]*|coreclr|clrjit)([.-].*)?\.so`)

// ofPerf is a function of a file that was mapped into the process.
func ofPerf(name, object string) frame {
	name = perfOffset.ReplaceAllString(name, "")
	base := path.Base(object)
	if object == "inlined" {
		return frame{Function: profile.Function{Name: name, File: isInlined}}
	}
	f := ofName(name)
	if f.File != "" { // it says whose it is
		return f
	}
	switch {
	case strings.HasPrefix(object, "[kernel") || strings.HasPrefix(object, "[guest") || strings.HasPrefix(base, "vmlinux") || strings.HasSuffix(object, ".ko"):
		f.Category = profile.Syscall
	case strings.HasPrefix(object, "[") || object == "" || name == "[unknown]" || runtimeLibrary.MatchString(base) || strings.HasPrefix(base, "perf-") && strings.HasSuffix(base, ".map") || interpreters.MatchString(base):
	case strings.HasPrefix(object, "/usr/lib") || strings.HasPrefix(object, "/lib"):
		f.Owner, f.File = profile.Standard, base
	default:
		f.Owner, f.File = profile.Own, base
	}
	return f
}
