package profile

import (
	"slices"
	"strings"
)

// rules give the categories of names by how these begin, the first that fits.
type rules []struct {
	category Category
	prefixes []string
}

func (r rules) of(name string) Category {
	for _, of := range r {
		if slices.ContainsFunc(of.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return of.category
		}
	}
	return Work
}

// goRules name functions of the runtime as of Go 1.26.
var goRules = rules{
	{Collecting, strings.Fields(`runtime.gcWriteBarrier runtime.gc runtime.bgsweep runtime.bgscavenge runtime.scan runtime.greyobject
		runtime.markroot runtime.sweepone runtime.wbBufFlush runtime.(*sweepLocked) runtime.(*gcWork)
		runtime.(*spanInlineMarkBits)`)},
	{Allocating, strings.Fields(`runtime.mallocgc runtime.newobject runtime.makeslice runtime.growslice runtime.makemap runtime.concatstring
		runtime.slicebytetostring runtime.stringtoslicebyte runtime.rawstring runtime.rawbyteslice runtime.(*mcache)
		runtime.(*mcentral) runtime.(*mheap)`)},
	{Scheduling, strings.Fields(`runtime.mcall runtime.mstart runtime.park_m runtime.schedule runtime.findRunnable runtime.goready runtime.ready
		runtime.wakep runtime.startm runtime.futex runtime.netpoll runtime.usleep runtime.entersyscall
		runtime.exitsyscall runtime.sysmon runtime.newproc runtime.selectgo runtime.chansend runtime.chanrecv`)},
	{Syscall, strings.Fields(`internal/runtime/syscall runtime/internal/syscall syscall. golang.org/x/sys/unix.`)},
	{Encoding, strings.Fields(`encoding/ compress/ google.golang.org/protobuf/ github.com/golang/protobuf/ github.com/gogo/protobuf/
		github.com/klauspost/compress/ github.com/json-iterator/ github.com/goccy/go-json`)},
	{Formatting, strings.Fields(`fmt. strconv. log. log/slog`)},
	{Crypto, strings.Fields(`crypto/ golang.org/x/crypto/ vendor/golang.org/x/crypto/`)},
}

// nodeScripts are scripts of Node's own by what they do.
var nodeScripts = rules{
	{Formatting, strings.Fields(`node:internal/util/inspect node:internal/console/ node:internal/util/debuglog`)},
	{Crypto, strings.Fields(`node:internal/crypto/ node:_tls`)},
	{Encoding, strings.Fields(`node:zlib`)},
	{Scheduling, strings.Fields(`node:internal/process/task_queues node:internal/timers`)},
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
	return nodeScripts.of(url)
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
