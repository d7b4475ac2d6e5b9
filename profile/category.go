package profile

import "strings"

// rule gives the category of the functions whose names begin with a prefix.
type rule struct {
	prefix   string
	category Category
}

// goRules are looked through in order; the first that fits counts. They name
// functions of the runtime as of Go 1.26.
var goRules = []rule{
	{"runtime.gcWriteBarrier", Collecting},
	{"runtime.gc", Collecting},
	{"runtime.bgsweep", Collecting},
	{"runtime.bgscavenge", Collecting},
	{"runtime.scan", Collecting},
	{"runtime.greyobject", Collecting},
	{"runtime.markroot", Collecting},
	{"runtime.sweepone", Collecting},
	{"runtime.wbBufFlush", Collecting},
	{"runtime.(*sweepLocked)", Collecting},
	{"runtime.(*gcWork)", Collecting},
	{"runtime.(*spanInlineMarkBits)", Collecting},
	{"runtime.mallocgc", Allocating},
	{"runtime.newobject", Allocating},
	{"runtime.makeslice", Allocating},
	{"runtime.growslice", Allocating},
	{"runtime.makemap", Allocating},
	{"runtime.concatstring", Allocating},
	{"runtime.slicebytetostring", Allocating},
	{"runtime.stringtoslicebyte", Allocating},
	{"runtime.rawstring", Allocating},
	{"runtime.rawbyteslice", Allocating},
	{"runtime.(*mcache)", Allocating},
	{"runtime.(*mcentral)", Allocating},
	{"runtime.(*mheap)", Allocating},
	{"runtime.mcall", Scheduling},
	{"runtime.mstart", Scheduling},
	{"runtime.park_m", Scheduling},
	{"runtime.schedule", Scheduling},
	{"runtime.findRunnable", Scheduling},
	{"runtime.goready", Scheduling},
	{"runtime.ready", Scheduling},
	{"runtime.wakep", Scheduling},
	{"runtime.startm", Scheduling},
	{"runtime.futex", Scheduling},
	{"runtime.netpoll", Scheduling},
	{"runtime.usleep", Scheduling},
	{"runtime.entersyscall", Scheduling},
	{"runtime.exitsyscall", Scheduling},
	{"runtime.sysmon", Scheduling},
	{"runtime.newproc", Scheduling},
	{"runtime.selectgo", Scheduling},
	{"runtime.chansend", Scheduling},
	{"runtime.chanrecv", Scheduling},
	{"internal/runtime/syscall", Syscall},
	{"runtime/internal/syscall", Syscall},
	{"syscall.", Syscall},
	{"golang.org/x/sys/unix.", Syscall},
	{"encoding/", Encoding},
	{"compress/", Encoding},
	{"google.golang.org/protobuf/", Encoding},
	{"github.com/golang/protobuf/", Encoding},
	{"github.com/gogo/protobuf/", Encoding},
	{"github.com/klauspost/compress/", Encoding},
	{"github.com/json-iterator/", Encoding},
	{"github.com/goccy/go-json", Encoding},
	{"fmt.", Formatting},
	{"strconv.", Formatting},
	{"log.", Formatting},
	{"log/slog", Formatting},
	{"crypto/", Crypto},
	{"golang.org/x/crypto/", Crypto},
	{"vendor/golang.org/x/crypto/", Crypto},
}

func goCategory(name string) Category {
	for _, r := range goRules {
		if strings.HasPrefix(name, r.prefix) {
			return r.category
		}
	}
	return Work
}

// nodeScripts are scripts of Node's own by what they do.
var nodeScripts = []rule{
	{"node:internal/util/inspect", Formatting},
	{"node:internal/console/", Formatting},
	{"node:internal/util/debuglog", Formatting},
	{"node:internal/crypto/", Crypto},
	{"node:_tls", Crypto},
	{"node:zlib", Encoding},
	{"node:internal/process/task_queues", Scheduling},
	{"node:internal/timers", Scheduling},
}

// nodeNatives are functions without a script, by name.
var nodeNatives = map[string]Category{
	"(garbage collector)": Collecting,
	"(idle)":              Idle,
	"stringify":           Encoding, // JSON's
	"parse":               Encoding,
	"JSON.stringify":      Encoding,
	"JSON.parse":          Encoding,
	"writeUtf8String":     Syscall,
	"writeLatin1String":   Syscall,
	"writeBuffer":         Syscall,
	"writev":              Syscall,
	"shutdown":            Syscall,
	"open":                Syscall,
	"read":                Syscall,
	"close":               Syscall,
}

// V8Category says what kind of work a built-in function of V8's is.
func V8Category(name string) Category { return nodeNatives[name] }

func nodeCategory(name, url string) Category {
	if url == "" {
		return nodeNatives[name]
	}
	for _, r := range nodeScripts {
		if strings.HasPrefix(url, r.prefix) {
			return r.category
		}
	}
	return Work
}

// CategoryOf gives a sample's kind of work. If the garbage collector is anywhere on the
// stack, it is the collector's. Otherwise it is the first category from the leaf up to
// the first function of the service's own: frames below that one are work that it
// asked for, frames above are not.
func (p *Profile) CategoryOf(s *Sample) Category {
	found, library := Work, false
	for _, f := range s.Stack {
		fn := &p.Functions[f.Function]
		if fn.Category == Collecting {
			return Collecting
		}
		// The event loop's dispatch below a library's call is not what the library does.
		if found == Work && fn.Category != Work && (!library || fn.Category != Scheduling) {
			found = fn.Category
		}
		library = library || fn.Owner == Library
		if fn.Owner == Own {
			return found
		}
	}
	return found
}

// Part is one category's, or owner's, part of the whole.
type Part struct {
	Category Category
	Value    int64
	Share    float64 // of the total, 0 to 1
}

// Parts gives the total by category, the largest first, without Idle.
func (p *Profile) Parts() []Part {
	sums := map[Category]int64{}
	for i := range p.Samples {
		sums[p.CategoryOf(&p.Samples[i])] += p.Samples[i].Value
	}
	delete(sums, Idle)
	total := p.Total()
	out := make([]Part, 0, len(sums))
	for c, v := range sums {
		out = append(out, Part{c, v, ratio(v, total)})
	}
	sortBy(out, func(a Part) (int64, string) { return a.Value, string(a.Category) })
	return out
}
