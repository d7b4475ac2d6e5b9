package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"testing"
	"time"
)

const (
	childPath = "WHITTLE_TEST_STATE_PATH"
	killed    = "POST /Count"
	rounds    = 20
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := writeForever(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeForever saves one generation after the other and says so after each
// one, when Save has promised that it is on disk.
func writeForever(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	last, err := s.Load(killed)
	if err != nil {
		return err
	}
	for n := numberOf(last) + 1; ; n++ {
		if err := s.Save(killed, generation(int(n))); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

// A process is killed at random moments while it saves. Each time the file
// must open, and hold a whole record: the last one that was acknowledged, or
// the one that was being written.
func TestKilledWhileSaving(t *testing.T) {
	path := tempPath(t)
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	acknowledged, inFlight := int64(0), 0
	for round := range rounds {
		if last := killOnce(t, path, rng); last > 0 {
			acknowledged = last
		}
		s, err := Open(path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		got, err := s.Load(killed)
		if closeErr := s.Close(); err != nil || closeErr != nil {
			t.Fatalf("round %d: %v, %v", round, err, closeErr)
		}
		n := numberOf(got)
		if n != acknowledged && n != acknowledged+1 {
			t.Fatalf("round %d: generation %d after %d was acknowledged", round, n, acknowledged)
		}
		if n > acknowledged {
			inFlight++
		}
		if n > 0 && !reflect.DeepEqual(got, generation(int(n))) {
			t.Fatalf("round %d: the parts of generation %d do not belong together", round, n)
		}
		acknowledged = n
	}
	t.Logf("%d kills over %d generations; %d times the record in flight had made it", rounds, acknowledged, inFlight)
}

// killOnce starts the writer, kills it in the middle of its work and gives the
// last generation that it had acknowledged; 0 where it had none.
func killOnce(t *testing.T, path string, rng *rand.Rand) int64 {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), childPath+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	// The kill falls anywhere: while the file is opened, or within a save.
	fuse := time.AfterFunc(time.Duration(rng.IntN(60_000))*time.Microsecond, func() { _ = child.Process.Kill() })
	defer fuse.Stop()
	last := int64(0)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break // a line that was cut off was not acknowledged
		}
		if last, err = strconv.ParseInt(line[:len(line)-1], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if err := child.Wait(); err == nil || child.ProcessState.Exited() {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	return last
}
