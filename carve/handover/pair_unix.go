//go:build unix

package handover

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"

	"golang.org/x/sys/unix"
)

// fileEnv has the descriptor of the connection to the predecessor.
const fileEnv = "WHITTLE_REPLACES"

// firstFile is the first descriptor of a command's ExtraFiles.
const firstFile = 3

// Requests has c told of each request to be replaced: SIGUSR2.
func Requests(c chan<- os.Signal) { signal.Notify(c, unix.SIGUSR2) }

// pair makes a connection to a command that is not started yet, whose end is among its files,
// also on an error.
func pair(cmd *exec.Cmd) (net.Conn, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("connect to the new process: %w", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	cmd.Env = append(cmd.Env, fileEnv+"="+strconv.Itoa(firstFile+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fds[1]), "successor"))
	return connOf(fds[0])
}

// inherited gives the other end of pair; nil where this process replaces none.
func inherited() (net.Conn, error) {
	text := os.Getenv(fileEnv)
	if text == "" {
		return nil, nil
	}
	_ = os.Unsetenv(fileEnv) // it can always be
	fd, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%s is %q, and must be a descriptor", fileEnv, text)
	}
	return connOf(fd)
}

func connOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "handover")
	defer f.Close() // the connection has a descriptor of its own
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("connect to the other process: %w", err)
	}
	return c, nil
}
