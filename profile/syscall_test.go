package profile

import (
	"fmt"
	"slices"
	"testing"
)

// described is a system call in a line: its name, what it was on, who asked.
func (b *build) described(c SystemCall) string {
	by := c.For
	if c.By >= 0 {
		by = fmt.Sprintf("%s:%d", b.name(c.By), c.Line)
	}
	return fmt.Sprintf("%d %s [%s] by %s as %s", c.Value, c.Name, c.On, by, c.Category)
}

func TestSystemCallsAreNamedByWhoAsked(t *testing.T) {
	const gate = "internal/runtime/syscall/linux.Syscall6"
	b := newBuild(Go).
		add(90, "", gate, "syscall.RawSyscall6", "syscall.Syscall", "syscall.write", "syscall.Write", "internal/poll.(*FD).Write", "net.(*netFD).Write", "bufio.(*Writer).Flush", "net/http.(*response).Write", "shop/api.send@1234567", "net/http.(*conn).serve").
		add(9, "", gate, "syscall.RawSyscall6", "syscall.Syscall", "syscall.write", "internal/poll.(*FD).Write", "net.(*conn).Write", "shop/api.send@1234567").
		add(80, "", gate, "syscall.RawSyscall6", "syscall.Syscall", "syscall.read", "golang.org/x/rpc.sysRead", "net.(*rawConn).Read", "golang.org/x/rpc.loop").
		add(70, "", gate, "syscall.Syscall6", "syscall.openat", "os.open", "os.Open", "shop/store.Get@12").
		add(60, "", gate, "internal/runtime/syscall/linux.EpollWait", "runtime.netpoll", "runtime.findRunnable").
		add(50, "", "runtime.futex", "runtime.futexwakeup", "runtime.ready", "runtime.chansend", "shop/api.queue@1").
		add(40, "", gate, "syscall.RawSyscall", "syscall.Close", "internal/poll.(*FD).Close", "net.(*conn).Close", "golang.org/x/net/netutil.(*limitListenerConn).Close", "net/http.(*conn).close").
		add(30, "", "runtime.memmove", "syscall.write", "shop/api.send").       // not in the call
		add(20, "", "shop/syscall.read", "shop/api.send").                      // one's own word
		add(10, "", gate, "syscall.(*SysProcAttr).fork", "shop/api.start@1234") // no name
	want := []string{
		"99 write [socket] by shop/api.send:7 as system calls",
		"80 read [socket] by golang.org/x/rpc as system calls",
		"70 openat [file] by shop/store.Get:2 as system calls",
		"60 epoll_wait [] by scheduler as system calls",
		"50 futex [] by shop/api.queue:1 as scheduling",
		"40 close [socket] by net/http as system calls",
	}
	var got []string
	for _, c := range b.p.SystemCalls() {
		got = append(got, b.described(c))
	}
	if !slices.Equal(got, want) {
		t.Errorf("system calls\n%q, want\n%q", got, want)
	}
	if c := b.p.SystemCalls()[0]; c.Share != 99./459 {
		t.Errorf("share %v", c.Share)
	}
}

// V8 names the native function that called, where it names any.
func TestSystemCallsOfNode(t *testing.T) {
	b := &build{p: Profile{Kind: CPU, Runtime: Node}, at: map[string]int32{}}
	call := func(frames ...callFrame) Sample {
		intern := b.p.interner()
		s := Sample{Value: 10}
		for _, f := range frames {
			s.Stack = append(s.Stack, Frame{Function: intern(f), Line: 3})
		}
		return s
	}
	b.p.Samples = []Sample{
		call(callFrame{FunctionName: "writeUtf8String"}, callFrame{FunctionName: "handleWriteReq", URL: "node:internal/stream_base_commons"}, callFrame{FunctionName: "Socket._write", URL: "node:net"}, callFrame{FunctionName: "send", URL: "file:///shop/node_modules/send/index.js"}),
		call(callFrame{FunctionName: "read"}, callFrame{FunctionName: "readSync", URL: "node:fs"}, callFrame{FunctionName: "load", URL: "file:///shop/app.js"}),
		call(callFrame{FunctionName: "read", URL: "file:///shop/app.js"}),
		call(callFrame{FunctionName: "(program)"}),
	}
	var got []string
	for _, c := range b.p.SystemCalls() {
		got = append(got, b.described(c))
	}
	if want := []string{"10 read [file] by load:3 as system calls", "10 write [socket] by send as system calls"}; !slices.Equal(got, want) {
		t.Errorf("system calls %q, want %q", got, want)
	}
}
