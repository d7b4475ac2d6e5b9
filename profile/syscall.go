package profile

import (
	"strings"
	"unicode"
)

// SystemCall is what the kernel did for a process under one name, for one asker.
type SystemCall struct {
	Name string // as the kernel calls it: "write", "epoll_wait", "futex"
	On   string // "socket" or "file", where that shows; else ""
	// By is the function of the service's own nearest to the call, at Line. It is
	// -1 where there is none: then For is the package that called, or "scheduler"
	// where the runtime did so for nobody.
	By   int32
	Line int32
	For  string
	// Category is what the call counts for: Syscall, or what the runtime made
	// it for.
	Category Category
	Value    int64
	Share    float64 // of the profile's total
}

// scheduler is who calls where only the runtime is on the stack.
const scheduler = "scheduler"

// SystemCalls gives the system calls by name and asker, the dearest first. The
// runtime's own, such as futex, are among them, also where the category of their
// work is another one. V8 shows few: most of Node's are (program).
func (p *Profile) SystemCalls() []SystemCall {
	sums := map[SystemCall]int64{}
	for i := range p.Samples {
		if c, ok := p.systemCall(&p.Samples[i]); ok {
			sums[c] += p.Samples[i].Value
		}
	}
	total := p.Total()
	out := make([]SystemCall, 0, len(sums))
	for c, v := range sums {
		c.Value, c.Share = v, ratio(v, total)
		out = append(out, c)
	}
	sortBy(out, func(c SystemCall) (int64, string) {
		if c.By >= 0 {
			return c.Value, c.Name + " " + p.Functions[c.By].Name
		}
		return c.Value, c.Name + " " + c.For
	})
	return out
}

// systemCall reads a stack whose leaf is a system call, without its value.
func (p *Profile) systemCall(s *Sample) (SystemCall, bool) {
	name, at := "", 0
	for ; at < len(s.Stack) && name == ""; at++ {
		f := &p.Functions[s.Stack[at].Function]
		name = callOf(f, p.Runtime)
		if name == "" && !gates[f.Name] {
			return SystemCall{}, false
		}
	}
	if name == "" {
		return SystemCall{}, false
	}
	c := SystemCall{Name: name, By: -1, Category: p.CategoryOf(s)}
	through := c.Category == Syscall && name != "epoll_wait" // a descriptor
	for _, frame := range s.Stack[at:] {
		f := &p.Functions[frame.Function]
		pkg := PackageOf(f.Name)
		if p.Runtime == Node {
			pkg = nodePackage(f.File)
		}
		switch {
		case f.Owner == Own:
			c.By, c.Line, c.For = frame.Function, frame.Line, ""
			return c, true
		case pkg == "net" || pkg == "node:net":
			if through && c.On == "" {
				c.On = "socket"
			}
		case pkg == "os" || pkg == "node:fs":
			if through && c.On == "" {
				c.On = "file"
			}
		case c.For == "" && f.Owner != System && !plumbing[pkg] && !callPackages[pkg]:
			c.For = pkg
		}
	}
	if c.For == "" {
		c.For = scheduler
	}
	return c, true
}

// gates are the functions below those that are named like a system call.
var gates = set(`internal/runtime/syscall/linux.Syscall6 internal/runtime/syscall.Syscall6 runtime/internal/syscall.Syscall6
	syscall.RawSyscall6 syscall.RawSyscall syscall.Syscall syscall.Syscall6 syscall.rawSyscallNoError
	syscall.rawVforkSyscall golang.org/x/sys/unix.Syscall golang.org/x/sys/unix.Syscall6`)

// callPackages have functions that are named like system calls.
var callPackages = set(`syscall golang.org/x/sys/unix internal/runtime/syscall internal/runtime/syscall/linux
	runtime/internal/syscall internal/syscall/unix`)

// runtimeCalls are the runtime's own, which it makes in assembly.
var runtimeCalls = set(`futex usleep madvise mmap munmap osyield tgkill clone read write1 timer_settime rt_sigprocmask`)

// callOf gives the system call that a function makes by itself, or "".
func callOf(f *Function, rt Runtime) string {
	if rt == Node {
		switch {
		case f.Owner != System || f.Category != Syscall:
			return ""
		case strings.HasPrefix(f.Name, "write"): // writeUtf8String, writev
			return "write"
		}
		return f.Name
	}
	pkg := PackageOf(f.Name)
	call := strings.TrimPrefix(f.Name[len(pkg):], ".")
	switch {
	case gates[f.Name] || strings.ContainsAny(call, ".("): // a method, a closure
		return ""
	case pkg == "runtime" && runtimeCalls[call]:
		return strings.TrimSuffix(call, "1")
	case callPackages[pkg]:
		return snake(call)
	}
	return ""
}

// snake writes EpollWait as epoll_wait.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// plumbing are the packages through which everybody's calls go.
var plumbing = set(`internal/poll io io/fs bufio crypto/tls sync context golang.org/x/net/netutil node:internal/stream_base_commons
	node:internal/streams/writable node:internal/streams/readable node:internal/streams/duplex node:buffer`)

// nodePackage gives the package, or the module of Node's own, of a file.
func nodePackage(file string) string {
	path, ok := strings.CutPrefix(file, "node_modules/")
	if !ok {
		return file
	}
	parts := strings.SplitN(path, "/", 3)
	if strings.HasPrefix(path, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
