//go:build unix

package handover

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// filesEnv has the descriptors of the two connections to the predecessor.
const filesEnv = "WHITTLE_REPLACES"

// firstFile is the first descriptor of a command's ExtraFiles.
const firstFile = 3

// Requests has c told of each request to be replaced: SIGUSR2.
func Requests(c chan<- os.Signal) { signal.Notify(c, unix.SIGUSR2) }

// pair makes two connections to a command that is not started yet: one over which it is
// called, and one over which it calls. The command's ends are among its files, also on an
// error.
func pair(cmd *exec.Cmd) (calls, orders io.ReadWriteCloser, err error) {
	var own []io.ReadWriteCloser
	defer func() {
		if err != nil {
			for _, c := range own {
				_ = c.Close() // nothing was sent
			}
		}
	}()
	var numbers []string
	for range 2 {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("connect to the new process: %w", err)
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
		}
		numbers = append(numbers, strconv.Itoa(firstFile+len(cmd.ExtraFiles)))
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(fds[1]), "successor"))
		conn, err := connOf(fds[0])
		if err != nil {
			return nil, nil, err
		}
		own = append(own, conn)
	}
	cmd.Env = append(cmd.Env, filesEnv+"="+strings.Join(numbers, " "))
	return own[0], own[1], nil
}

// inherited gives the other ends of pair; nil where this process replaces none.
func inherited() (calls, orders io.ReadWriteCloser, err error) {
	text := os.Getenv(filesEnv)
	if text == "" {
		return nil, nil, nil
	}
	_ = os.Unsetenv(filesEnv) // it can always be
	var ends [2]io.ReadWriteCloser
	numbers := strings.Fields(text)
	if len(numbers) != len(ends) {
		return nil, nil, fmt.Errorf("%s is %q, and must be two descriptors", filesEnv, text)
	}
	for i, number := range numbers {
		fd, err := strconv.Atoi(number)
		if err != nil {
			return nil, nil, fmt.Errorf("%s is %q, and must be two descriptors", filesEnv, text)
		}
		if ends[i], err = connOf(fd); err != nil {
			return nil, nil, err
		}
	}
	return ends[0], ends[1], nil
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
