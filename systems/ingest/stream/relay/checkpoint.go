package relay

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"whittle"
	"whittle/internal/filelock"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/durable"
)

// A checkpoint says below which offset of the log all is drained. It is a file of two slots,
// written in turn and in place, each synced: whatever tears a write leaves the other one
// whole, and a full disk, which is when the log must be trimmed, has room for it.
//
//	magic       8
//	generation  8   the greater one counts
//	next        8
//	sum         4   CRC-32C of the 24 bytes before it
const (
	magic   = "WHTLPOS2"
	slotLen = 512
	sumAt   = 24
)

// checkpoint is the file. It belongs to one goroutine at a time.
type checkpoint struct {
	file       *os.File
	generation uint64 // 0: nothing was ever saved
	next       uint64
}

// openCheckpoint opens or creates the file in dir, and locks it against other processes.
// Where neither slot is what was written it is an error: going on would drain the whole log
// again.
func openCheckpoint(dir string) (_ *checkpoint, err error) {
	if dir == "" {
		return nil, whittle.Errorf(whittle.Invalid, "open checkpoint: no folder is given")
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open checkpoint: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "position"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open checkpoint: %w", err)
	}
	c := &checkpoint{file: f}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := filelock.Hold(f); err != nil {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "lock checkpoint: %w", err).
			WithHint("another process drains into a sink from this folder; there can be one")
	}
	b, err := io.ReadAll(io.LimitReader(f, 2*slotLen))
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "read checkpoint: %w", err)
	}
	for slot := b; len(slot) >= sumAt+4; slot = slot[min(slotLen, len(slot)):] {
		generation := binary.LittleEndian.Uint64(slot[8:])
		if string(slot[:8]) == magic && stream.Checksum(slot[:sumAt]) == binary.LittleEndian.Uint32(slot[sumAt:]) && generation > c.generation {
			c.generation, c.next = generation, binary.LittleEndian.Uint64(slot[16:])
		}
	}
	if c.generation == 0 && len(b) > 0 {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "the checkpoint in %s is not what was written", dir).
			WithHint("move it away to drain the log from its first record again; the sink then gets doubles")
	}
	return c, durable.Sync(dir)
}

// save returns when it is on the disk that all before next is drained.
func (c *checkpoint) save(next uint64) error {
	b := make([]byte, slotLen)
	copy(b, magic)
	binary.LittleEndian.PutUint64(b[8:], c.generation+1)
	binary.LittleEndian.PutUint64(b[16:], next)
	binary.LittleEndian.PutUint32(b[sumAt:], stream.Checksum(b[:sumAt]))
	_, err := c.file.WriteAt(b, int64(c.generation%2)*slotLen)
	if err = errors.Join(err, c.file.Sync()); err != nil {
		return whittle.Errorf(whittle.Unavailable, "save checkpoint: %w", err)
	}
	c.generation, c.next = c.generation+1, next
	return nil
}
