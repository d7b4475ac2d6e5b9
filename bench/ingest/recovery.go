package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"whittle/bench/server"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// fillRole makes this binary fill a log, say so, and wait to be killed.
const fillRole = "as-filler"

const filled = "filled"

// fillAs appends 1 KB events, as the service would, until the log is as long as
// asked for: many at a time, since what is timed is the start on it.
func fillAs(args []string) int {
	if err := fill(args); err != nil {
		fmt.Fprintln(os.Stderr, "fill log:", err)
		return 3
	}
	fmt.Println(filled)
	select {} // its end is a kill, as a crash's would be
}

func fill(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%d arguments, not folder and size", len(args))
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	l, err := embedded.Open(args[0], embedded.Options{ScrubRate: -1})
	if err != nil {
		return err
	}
	head, tail, _ := strings.Cut(strings.Replace(eventJSON(0), idTemplate, "3f0c8f4e-5a1d-4c2b-9a77-5a0f6f1f7d11", 1), idTemplate)
	records := make([]stream.Record, 2000)
	n := 0
	for written := int64(0); written < size; {
		now := time.Now()
		for i := range records {
			id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
			n++
			records[i] = stream.Record{ID: id, Key: "3f0c8f4e-5a1d-4c2b-9a77-5a0f6f1f7d11", Time: now, Value: []byte(head + id + tail)}
			records[i].Seal()
			written += int64(len(records[i].Value))
		}
		for _, r := range l.Append(context.Background(), records) {
			if r.Err != nil {
				return r.Err
			}
		}
	}
	return nil
}

// recovery times how soon the service listens on a large log whose writer was
// killed, with nothing of it in memory: the log put in order and the window of
// ids read from it. Once more without the window says what of it is the log's.
func recovery(ctx context.Context, s settings, conclude adder) error {
	folder := filepath.Join(s.folder, "large")
	if err := killedLog(ctx, folder, int64(s.recovery)); err != nil {
		return err
	}
	conclude(ours, "recovery_log", float64(s.recovery)/1e9, "GB")
	for _, way := range []struct {
		metric string
		flags  []string
	}{{"recovery", nil}, {"recovery_no_dedup", []string{"--dedup-entries", "0"}}} {
		var took []float64
		for range 3 {
			if err := forget(folder); err != nil {
				return err
			}
			begun := time.Now()
			p, err := startIngest(ctx, s, nil, append([]string{"--sink", "embedded", "--data", folder}, way.flags...)...)
			if err != nil {
				return err
			}
			took = append(took, time.Since(begun).Seconds())
			p.Kill() // and the next one recovers again
		}
		conclude(ours, way.metric+"_first", took[0], "s")
		conclude(ours, way.metric+"_best", min(took[0], took[1], took[2]), "s")
	}
	return os.RemoveAll(folder)
}

func killedLog(ctx context.Context, folder string, size int64) error {
	cmd := exec.CommandContext(ctx, server.Self(), fillRole, folder, strconv.FormatInt(size, 10))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("fill log: %w", err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("fill log: %w", err)
	}
	var word string
	_, err = fmt.Fscan(out, &word)
	_ = cmd.Process.Kill() // it waits for that
	_ = cmd.Wait()
	if err != nil || word != filled {
		return fmt.Errorf("fill log: it said %q (%w)", word, err)
	}
	fmt.Printf("a log of %d MB in %.0f s, its writer killed\n", size/1e6, time.Since(begun).Seconds())
	return nil
}

// forget has the system drop a log's pages from memory, as a start of the
// machine would.
func forget(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("forget log: %w", err)
		}
		err = f.Sync() // a page that is not on the disk stays
		if err == nil {
			err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		}
		_ = f.Close() // it was only read
		if err != nil {
			return fmt.Errorf("forget log: %w", err)
		}
	}
	return nil
}
