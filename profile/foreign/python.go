package foreign

import (
	"bytes"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/profile"
)

// pythonThread is what py-spy's --threads puts at a stack's root.
var pythonThread = regexp.MustCompile(`^thread \((\d+)\)(?:: [^;]*)?;`)

// pythonWaits are functions of Python's own that wait, by file and name: what they call is
// written in C, so it has no frame. asyncio's Runner.run is where uvloop's event loop waits,
// and also works.
var pythonWaits = regexp.MustCompile(`(?:` +
	`threading\.py:(?:wait|Condition\.wait|Event\.wait|_wait_for_tstate_lock|Thread\._wait_for_tstate_lock|Thread\.join|join|acquire|Semaphore\.acquire)|` +
	`selectors\.py:\S*select|queue\.py:\S*get|asyncio/runners\.py:\S*run|asyncio/base_events\.py:\S*run_forever|` +
	`socket\.py:\S*(?:accept|readinto)|ssl\.py:\S*(?:read|recv|recv_into)|subprocess\.py:\S*(?:wait|_try_wait)|` +
	`socketserver\.py:\S*serve_forever|gunicorn/arbiter\.py:\S*(?:wait_for_signals|sleep)|gunicorn/workers/sync\.py:\S*(?:wait|accept)|` +
	`waitress/wasyncore\.py:\S*poll\w*|multiprocessing/(?:connection|popen_fork)\.py:\S*(?:recv|_recv|wait|poll)|concurrent/futures/thread\.py:_worker` +
	`)$`)

// waits reports whether the leaf of a collapsed stack is a function that waits.
func waits(stack string) bool {
	m := withFile.FindStringSubmatch(stack[strings.LastIndexByte(stack, ';')+1:])
	return m != nil && pythonWaits.MatchString(m[2]+":"+m[1])
}

// ofThread are one thread's lines of a file.
type ofThread struct {
	stacks []string
	counts []int64
}

// OnCPU holds what py-spy wrote with --threads to the clocks of the threads: it also sees
// threads that were woken and wait for a core, which on a busy machine is most of what it
// sees. used is what each thread used meanwhile, by its id; of one that it lacks only the
// functions that wait are left out. The threads' frames are left out, too.
func OnCPU(raw []byte, used map[int]time.Duration) []byte {
	threads, order := map[int]*ofThread{}, []int(nil)
	var out bytes.Buffer
	for line := range bytes.Lines(raw) {
		text := string(bytes.TrimSpace(line))
		m := pythonThread.FindStringSubmatch(text)
		space := strings.LastIndexByte(text, ' ')
		if m == nil || space < len(m[0]) {
			out.Write(line)
			continue
		}
		id, err := strconv.Atoi(m[1])
		count, countErr := strconv.ParseInt(text[space+1:], 10, 64)
		if err != nil || countErr != nil || count < 0 || count > maxTotal/int64(perSample) {
			return raw // it is said where it is read
		}
		t := threads[id]
		if t == nil {
			t = &ofThread{}
			threads[id], order = t, append(order, id)
		}
		t.stacks, t.counts = append(t.stacks, text[len(m[0]):space]), append(t.counts, count)
	}
	slices.Sort(order)
	for _, id := range order {
		t := threads[id]
		t.hold(used, id)
		for i, stack := range t.stacks {
			if t.counts[i] > 0 {
				fmt.Fprintf(&out, "%s %d\n", stack, t.counts[i])
			}
		}
	}
	return out.Bytes()
}

// hold leaves as many samples as the thread was on a processor for: those of functions that
// wait are the first to go. What is more by chance stays.
func (t *ofThread) hold(used map[int]time.Duration, id int) {
	waiting := make([]bool, len(t.stacks))
	var working, all int64
	for i, stack := range t.stacks {
		waiting[i] = waits(stack)
		all += t.counts[i]
		if !waiting[i] {
			working += t.counts[i]
		}
	}
	clock, known := used[id]
	may := int64(math.Round(clock.Seconds() / perSample.Seconds()))
	if !known {
		may = working
	}
	t.scale(waiting, true, all-working, min(max(may-working, 0), all-working))
	if most := may + int64(2*math.Sqrt(float64(may))) + 2; working > most {
		t.scale(waiting, false, working, may)
	}
}

// scale makes the counts of the one or the other stacks sum up to what is to be left,
// each by its part.
func (t *ofThread) scale(waiting []bool, which bool, have, leave int64) {
	if have == leave {
		return
	}
	var seen, given int64
	for i := range t.counts {
		if waiting[i] != which {
			continue
		}
		seen += t.counts[i]
		upTo := int64(math.Round(float64(seen) * float64(leave) / float64(have)))
		t.counts[i], given = upTo-given, upTo
	}
}

// pythonLoops are the functions in which a Python service spends its life: what is further
// out has started it, and asks for nothing that runs within.
var pythonLoops = regexp.MustCompile(`(?:asyncio/runners\.py:\S*run|asyncio/base_events\.py:\S*run_forever|socketserver\.py:\S*serve_forever|` +
	`waitress/wasyncore\.py:\S*loop|waitress/server\.py:\S*run|tornado/ioloop\.py:\S*start|wsgiref/simple_server\.py:\S*serve_forever)$`)

// withinLoop cuts off what is further out than a Python service's loop. The leaf comes first.
func withinLoop(stack []frame) []frame {
	for i := len(stack) - 1; i >= 0; i-- {
		if f := &stack[i]; f.Owner != profile.Own && isPython(f.File) && pythonLoops.MatchString(f.File+":"+f.Name) {
			return stack[:i+1]
		}
	}
	return stack
}

// isConsoleScript knows the scripts that pip writes into bin for a package's commands.
func isConsoleScript(file string) bool {
	folder := path.Base(path.Dir(file))
	return (folder == "bin" || folder == "Scripts") && path.Ext(file) == ""
}
