package process

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Clock is what a process is told of the time of day, and of nothing else: its timers
// go on as they would.
type Clock struct {
	memory *os.File // the process's
	offset int64    // the place in it of how many seconds are added
}

// Set has the process's clock so far ahead of the machine's.
func (c *Clock) Set(ahead time.Duration) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(ahead/time.Second))
	if _, err := c.memory.WriteAt(b, c.offset); err != nil {
		return fmt.Errorf("set the clock of a process: %w", err)
	}
	return nil
}

// Close lets the process's clock be.
func (c *Clock) Close() error { return c.memory.Close() }

// clockCode takes the place of the function of the vDSO by which a process on Linux
// asks for the time. It asks the kernel, and adds to the time of day what lies behind
// it.
var clockCode = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jnz +10: another clock than CLOCK_REALTIME
	0x48, 0x8b, 0x0d, 0x06, 0x00, 0x00, 0x00, // mov rcx, [rip+6]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3,       // ret
	0x90, 0x90, // up to 8 bytes: the seconds follow
}

// StartWithClock starts a command whose clock is so far ahead, and can be set. It stops
// the process before its first instruction, and puts clockCode into its copy of the vDSO.
func StartWithClock(cmd *exec.Cmd, ahead time.Duration) (*Clock, error) {
	runtime.LockOSThread() // a process is traced by the thread that has started it
	defer runtime.UnlockOSThread()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return nil, fmt.Errorf("the process is not where it begins: %v, %w", status, err)
	}
	c, err := placeClock(pid)
	if err == nil {
		err = c.Set(ahead)
	}
	if err := errors.Join(err, syscall.PtraceDetach(pid)); err != nil {
		return nil, fmt.Errorf("place the clock of a process: %w", err)
	}
	return c, nil
}

func placeClock(pid int) (*Clock, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return nil, err
			}
		}
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	image := make([]byte, to-from)
	if _, err := memory.ReadAt(image, from); err != nil {
		return nil, err
	}
	at, size, err := clockFunction(image)
	if err != nil {
		return nil, err
	}
	at += from
	code := append(bytes.Clone(clockCode), make([]byte, 8)...)
	if at%8 != 0 || size < len(code) {
		return nil, fmt.Errorf("the function is at %#x and has %d bytes", at, size)
	}
	_, err = memory.WriteAt(code, at)
	return &Clock{memory: memory, offset: at + int64(len(clockCode))}, err
}

// clockFunction is where the vDSO has the function.
func clockFunction(image []byte) (at int64, size int, err error) {
	vdso, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, 0, err
	}
	symbols, err := vdso.DynamicSymbols()
	if err != nil {
		return 0, 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return int64(s.Value), int(s.Size), nil //nolint:gosec // of one page
		}
	}
	return 0, 0, errors.New("the vDSO has no such function")
}
