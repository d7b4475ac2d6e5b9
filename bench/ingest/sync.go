package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"whittle/bench/table"
)

// device times the disk's bare sync: a write into space that was taken before,
// and fdatasync, one after the other, with nothing else from here.
type device struct {
	file *os.File
	size int64
	at   int64
}

func openDevice(folder string) (*device, error) {
	f, err := os.Create(filepath.Join(folder, "device"))
	if err != nil {
		return nil, fmt.Errorf("make file to sync: %w", err)
	}
	d := &device{file: f, size: 256 << 20}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, d.size); err != nil {
		_ = f.Close() // the first error says more
		return nil, fmt.Errorf("take space for file to sync: %w", err)
	}
	return d, nil
}

// sample returns the median and the 99th percentile over some time.
func (d *device) sample(block int, during time.Duration) (p50, p99 time.Duration, err error) {
	b := make([]byte, block)
	for i := range b {
		b[i] = byte(i*31 + 7)
	}
	var took []time.Duration
	for end := time.Now().Add(during); time.Now().Before(end); {
		if d.at+int64(block) > d.size {
			d.at = 0
		}
		begun := time.Now()
		if _, err := d.file.WriteAt(b, d.at); err != nil {
			return 0, 0, fmt.Errorf("write to disk: %w", err)
		}
		if err := unix.Fdatasync(int(d.file.Fd())); err != nil {
			return 0, 0, fmt.Errorf("sync disk: %w", err)
		}
		took = append(took, time.Since(begun))
		d.at += int64(block)
	}
	slices.Sort(took)
	return table.Quantile(took, 0.5), table.Quantile(took, 0.99), nil
}
