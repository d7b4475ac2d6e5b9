package ingest

import (
	"bytes"
	"debug/elf"
	little "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// clock is what a process is told of the time of day, and of nothing else: its timers
// go on as they would.
type clock struct {
	memory *os.File // the process's
	offset int64    // the place in it of how many seconds are added
}

// set has the process's clock so far ahead of the machine's.
func (c *clock) set(t *testing.T, ahead time.Duration) {
	t.Helper()
	b := little.LittleEndian.AppendUint64(nil, uint64(ahead/time.Second))
	if _, err := c.memory.WriteAt(b, c.offset); err != nil {
		t.Fatal("set the clock of the process:", err)
	}
}

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

// startWithClock starts a command whose clock is so far ahead, and can be set. It
// stops the process before its first instruction, and puts clockCode into its copy of
// the vDSO.
func startWithClock(t *testing.T, cmd *exec.Cmd, ahead time.Duration) *clock {
	t.Helper()
	runtime.LockOSThread() // a process is traced by the thread that has started it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process is not where it begins: %v, %v", status, err)
	}
	c, err := placeClock(pid)
	if err := errors.Join(err, syscall.PtraceDetach(pid)); err != nil {
		t.Fatal("place the clock:", err)
	}
	t.Cleanup(func() { c.memory.Close() })
	c.set(t, ahead)
	return c
}

func placeClock(pid int) (*clock, error) {
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
	vdso, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	symbols, err := vdso.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" {
			continue
		}
		at := from + int64(s.Value)
		code := append(bytes.Clone(clockCode), make([]byte, 8)...)
		if at%8 != 0 || s.Size < uint64(len(code)) {
			return nil, fmt.Errorf("the function is at %#x and has %d bytes", at, s.Size)
		}
		_, err := memory.WriteAt(code, at)
		return &clock{memory: memory, offset: at + int64(len(clockCode))}, err
	}
	return nil, errors.New("there is no such function")
}

// clocked are events that are sent while the clock of the service is set.
type clocked struct {
	service *service
	sent    []string          // ids, in order
	kept    map[string]string // the position of each, as the first response said
	bodies  map[string]string
}

// put sends an event until it is kept or known, and gives which of them it is.
func (c *clocked) put(t *testing.T, id string) (status string) {
	t.Helper()
	within(t, id+" is kept or known", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.service.public+"/import", strings.NewReader(c.bodies[id]))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth("key", "")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var a response
		if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
			t.Fatal(err)
		}
		status = a.Status
		if had, ok := c.kept[id]; ok && resp.StatusCode == http.StatusOK && (status != "duplicate" || had != a.Position) {
			t.Errorf("%s, kept at %s, is %s at %s when it comes again", id, had, status, a.Position)
		} else if !ok && resp.StatusCode == http.StatusOK {
			c.kept[id] = a.Position
		}
		return resp.StatusCode == http.StatusOK
	})
	return status
}

// phase sends new events, several for each of a few users and enough for a segment,
// and all events of before again.
func (c *clocked) phase(t *testing.T, name string) {
	t.Helper()
	before := len(c.sent)
	for i := range 30 {
		id := fmt.Sprintf("%s, %d", name, i)
		filler := ""
		if i%3 == 0 {
			filler = strings.Repeat("words ", 72<<10)
		}
		c.bodies[id] = fmt.Sprintf(`{"messageId":%q,"userId":"u%d","text":%q}`, id, i%4, filler)
		if status := c.put(t, id); status != "accepted" {
			t.Errorf("%s, which is new, is %s", id, status)
		}
		c.sent = append(c.sent, id)
	}
	for _, id := range c.sent[:before] {
		if len(c.bodies[id]) < 1<<10 {
			c.put(t, id)
		}
	}
}

// lookedAt waits until the log has been looked at by what runs every second: its mark
// was written twice.
func (c *clocked) lookedAt(t *testing.T, data, name string) {
	t.Helper()
	var last time.Time
	for n := range 3 {
		id := fmt.Sprintf("%s, while it is looked at, %d", name, n)
		c.bodies[id] = fmt.Sprintf(`{"messageId":%q,"userId":"u0"}`, id)
		c.put(t, id)
		c.sent = append(c.sent, id)
		within(t, "the mark is written", func() bool {
			info, err := os.Stat(filepath.Join(data, "END"))
			if err != nil {
				t.Fatal(err)
			}
			written := !info.ModTime().Equal(last)
			last = info.ModTime()
			return written
		})
	}
}

// audit reads the log at rest: each event is there once, as it was sent, where its
// response said, and those of each user in the order in which they were sent.
func (c *clocked) audit(t *testing.T, data string) {
	t.Helper()
	n := 0
	for _, e := range entries(t, data) {
		if n == len(c.sent) || e.ID != c.sent[n] || string(e.Value) != c.bodies[e.ID] || c.kept[e.ID] != e.Position.Partition+"/"+e.Position.Offset {
			t.Fatalf("record %d at %s is %q", n, e.Position.Offset, e.ID)
		}
		n++
	}
	if n != len(c.sent) {
		t.Errorf("LOST: %d of %d events are there", n, len(c.sent))
	}
}

// TestClockIsSet sets the clock of a running service to and fro, by an hour and by a
// year, and starts it by wrong clocks after kills. No event goes by the retention of
// an hour, each that comes again is known, and nothing is refused for long.
func TestClockIsSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	data, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("key name=shop rate=2000/s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &clocked{kept: map[string]string{}, bodies: map[string]string{}}
	var set *clock
	start := func(ahead time.Duration, flags ...string) {
		c.service = serveBy(t, func(cmd *exec.Cmd) error {
			set = startWithClock(t, cmd, ahead)
			return nil
		}, data, append(flags, "--keys", keys)...)
	}
	for _, ahead := range []time.Duration{0, year} {
		start(ahead)
		c.phase(t, fmt.Sprintf("started %v ahead", ahead))
		c.service.kill()
	}
	start(0, "--retain-age", "1h")
	for _, ahead := range []time.Duration{year, 0, -time.Hour, 0, -year, 0} {
		set.set(t, ahead)
		name := fmt.Sprintf("%v ahead, %d were sent", ahead, len(c.sent))
		c.phase(t, name)
		c.lookedAt(t, data, name)
	}
	c.service.kill()
	start(-year, "--retain-age", "1h")
	c.phase(t, "started a year behind")
	c.service.kill()
	for n, ahead := range []time.Duration{year, year, 2 * year} {
		start(ahead, "--retain-age", "1h")
		c.lookedAt(t, data, fmt.Sprintf("start %d, %v ahead", n, ahead))
		c.service.kill()
	}
	start(0, "--retain-age", "1h")
	c.lookedAt(t, data, "at the end")
	c.service.kill()
	c.audit(t, data)
}
