package collect

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// linger is a process of its own that keeps connections open for a moment after this one
// was killed. nil: there is none.
type linger struct {
	pid int
	own *os.File // breaks with this process
}

// lingerScript waits for that. The first connection ends before the others.
const lingerScript = "read line; sleep 2; exec 3>&-; sleep 1"

// keepOpen has a shell keep connections, since a Node process ends with a segmentation
// fault where it responds in the very moment in which it sees its inspector's connection
// end: that of a whittle that is killed ends once the response is through.
func keepOpen(connections ...syscall.Conn) *linger {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil
	}
	in, own, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer in.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		own.Close()
		return nil
	}
	defer null.Close()
	files := []uintptr{in.Fd(), null.Fd(), null.Fd()}
	l := &linger{own: own}
	start := func() error {
		l.pid, err = syscall.ForkExec(shell, []string{"sh", "-c", lingerScript}, &syscall.ProcAttr{
			Env: []string{"PATH=" + os.Getenv("PATH")}, Files: files,
			Sys: &syscall.SysProcAttr{Setsid: true}, // a terminal's signals are whittle's
		})
		return err
	}
	if err := withFiles(connections, &files, start); err != nil {
		own.Close()
		return nil
	}
	return l
}

// withFiles adds the connections' files, as they are, and does something with them.
func withFiles(connections []syscall.Conn, files *[]uintptr, do func() error) error {
	if len(connections) == 0 {
		return do()
	}
	raw, err := connections[0].SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		*files = append(*files, fd)
		inner = withFiles(connections[1:], files, do)
	})
	return errors.Join(err, inner)
}

// end ends it at once, if it has not: the connections are this process's alone again.
func (l *linger) end() {
	if l == nil || l.pid == 0 {
		return
	}
	_ = syscall.Kill(l.pid, syscall.SIGKILL) // it is a child, whose id stays its own until it is waited for
	for {
		if _, err := syscall.Wait4(l.pid, nil, 0, nil); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	l.own.Close()
	l.pid = 0 // which is anybody's from now on
}
