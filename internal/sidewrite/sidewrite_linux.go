//go:build amd64 || arm64

package sidewrite

import (
	"errors"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Writer writes to one file. It belongs to one goroutine at a time.
type Writer struct {
	fd      int
	context uintptr  // the kernel's
	done    *os.File // an eventfd, which is waited for as a socket is
	doneFD  int
	command *command
	list    [1]*command
	result  result
	slow    int // commands whose giving took long, one behind the other
}

// command is the kernel's struct iocb.
type command struct {
	_       uint64
	_       uint32
	rwFlags uint32
	opcode  uint16
	_       int16
	file    uint32
	memory  uintptr
	length  uint64
	offset  int64
	_       uint64
	flags   uint32
	notify  uint32
}

const (
	pwrite     = 1 // IOCB_CMD_PWRITE
	withNotify = 1 // IOCB_FLAG_RESFD
)

// result is the kernel's struct io_event.
type result struct {
	_, _     uint64
	value, _ int64
}

// New makes a Writer of a file that was opened for direct writes. It does not own the
// file, which has to be open until Close.
func New(f *os.File) (*Writer, error) {
	w := &Writer{fd: int(f.Fd()), command: new(command)}
	if _, _, e := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&w.context)), 0); e != 0 {
		return nil, ErrUnsupported
	}
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		w.destroy()
		return nil, ErrUnsupported
	}
	w.done, w.doneFD = os.NewFile(uintptr(fd), "eventfd"), fd
	return w, nil
}

// mostGiving is how long giving a command may take, mostSlow how many may take longer, one
// behind the other, as where the system is busy. Go's scheduler knows nothing of that call,
// so a file system that writes meanwhile would hold up a processor for as long.
const (
	mostGiving = 2 * time.Millisecond
	mostSlow   = 3
)

// WriteAt writes p, and returns when it is on the disk, with what of the file's length
// and place it needs to be read. What of p was written where an error came is not known,
// but for ErrUnsupported.
func (w *Writer) WriteAt(p []byte, at int64) (int, error) {
	switch {
	case w.slow >= mostSlow:
		return 0, ErrUnsupported
	case len(p) == 0:
		return 0, nil
	}
	var pinned runtime.Pinner
	pinned.Pin(&p[0])
	defer pinned.Unpin()
	*w.command = command{
		opcode: pwrite, file: uint32(w.fd), memory: uintptr(unsafe.Pointer(&p[0])), length: uint64(len(p)), offset: at,
		rwFlags: unix.RWF_DSYNC, flags: withNotify, notify: uint32(w.doneFD),
	}
	w.list[0] = w.command
	begun := time.Now()
	if n, _, e := unix.RawSyscall(unix.SYS_IO_SUBMIT, w.context, 1, uintptr(unsafe.Pointer(&w.list))); e != 0 || n != 1 {
		return 0, ErrUnsupported // such as memory that does not lie as the device wants it
	}
	if w.slow++; time.Since(begun) <= mostGiving {
		w.slow = 0
	}
	var count [8]byte
	_, err := w.done.Read(count[:])
	// The kernel has the memory until the result is there, whatever the eventfd says.
	for {
		n, _, e := unix.RawSyscall6(unix.SYS_IO_GETEVENTS, w.context, 1, 1, uintptr(unsafe.Pointer(&w.result)), 0, 0)
		if n == 1 {
			break
		}
		if !errors.Is(e, unix.EINTR) {
			return 0, errors.Join(err, e)
		}
	}
	switch v := w.result.value; {
	case v == -int64(unix.EINVAL) || v == -int64(unix.EOPNOTSUPP):
		return 0, ErrUnsupported
	case v < 0:
		return 0, os.NewSyscallError("pwrite on the side", unix.Errno(-v))
	case v < int64(len(p)):
		return int(v), io.ErrShortWrite
	}
	return len(p), err
}

// Close lets go of what the kernel has for the Writer.
func (w *Writer) Close() error {
	w.destroy()
	return w.done.Close()
}

func (w *Writer) destroy() { _, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, w.context, 0, 0) } // nothing is under way
