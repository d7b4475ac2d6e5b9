package relay

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"whittle"
	"whittle/internal/filelock"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/durable"
)

// checkpoint is how far a drain has come, as it is saved on disk.
type checkpoint struct {
	ID string `json:"id"` // of the drain, in the origins that it leaves
	// Next is the number below which all is settled, Queues the same by queue.
	Next   uint64   `json:"next"`
	Queues []uint64 `json:"queues"`
	// Ends is from where the sink is to be read, by partition, to find what it
	// has beyond the numbers above.
	Ends map[string]string `json:"ends"`
	// Clean says that nothing beyond the numbers above was ever sent.
	Clean bool `json:"clean"`
	// Last is where the last record below Next lies at its source, and Fingerprint its
	// fingerprint.
	Last        stream.Position    `json:"last"`
	Fingerprint stream.Fingerprint `json:"fingerprint"`
	// End is the number behind the last record that the log was known to have.
	End  uint64     `json:"end"`
	Move *moveState `json:"move,omitempty"`

	Sent      uint64 `json:"sent"`
	Dead      uint64 `json:"dead"`
	Corrupt   uint64 `json:"corrupt"`
	CorruptTo uint64 `json:"corrupt_to"` // corrupt records below it are counted
	Missing   uint64 `json:"missing"`
	MissingTo uint64 `json:"missing_to"` // gaps below it are counted
}

// end is the number that the log must go up to at least.
func (p *checkpoint) end() uint64 { return max(p.End, p.Next, slices.Max(p.Queues)) }

func (p *checkpoint) valid() bool {
	return p.ID != "" && len(p.Queues) == keyQueues && slices.Min(p.Queues) >= p.Next
}

// A checkpoint file is
//
//	magic (8 bytes) | generation (8) | length (4) | CRC-32C of all else (4) | JSON | zeros
//
// with numbers in little-endian. There are two such files, written in turn and
// in place, each fsynced: whatever tears a write leaves the other one whole.
// (Writing a new file and renaming it would need free space, and a full disk is
// when the checkpoint must advance, so that the log can be trimmed.)
const (
	magic         = "WHTLPOS1"
	headLen       = 8 + 8 + 4 + 4
	block         = 4 << 10
	maxCheckpoint = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errNoCheckpoint = errors.New("no position")

func encodeCheckpoint(generation uint64, body []byte) []byte {
	n := (headLen + len(body) + block - 1) / block * block
	b := make([]byte, 0, n)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint64(b, generation)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, body))
	return append(b, body...)[:n]
}

func decodeCheckpoint(b []byte) (generation uint64, body []byte, err error) {
	if len(b) < headLen || string(b[:len(magic)]) != magic {
		return 0, nil, errNoCheckpoint
	}
	n := binary.LittleEndian.Uint32(b[16:])
	if uint64(n) > uint64(len(b)-headLen) {
		return 0, nil, errNoCheckpoint
	}
	body = b[headLen : headLen+int(n)]
	if crc32.Update(crc32.Checksum(b[:20], castagnoli), castagnoli, body) != binary.LittleEndian.Uint32(b[20:]) {
		return 0, nil, errNoCheckpoint
	}
	return binary.LittleEndian.Uint64(b[8:]), body, nil
}

// checkpointStore is the pair of checkpoint files. It belongs to one goroutine
// at a time.
type checkpointStore struct {
	files      [2]*os.File
	next       int // the one to write next
	generation uint64
	body       []byte // what was read at first; nil: nothing was there
}

// openCheckpoints opens or creates the pair in dir and locks it against other
// processes. When both files are damaged it is an error: going on would drain
// the whole log again.
func openCheckpoints(dir string) (_ *checkpointStore, err error) {
	if dir == "" {
		return nil, whittle.Errorf(whittle.Invalid, "open position: no folder is given")
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open position: %w", err)
	}
	p := &checkpointStore{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	written := 0
	for i, name := range []string{"position.0", "position.1"} {
		f, err := openPosition(filepath.Join(dir, name))
		if err != nil {
			return nil, whittle.Errorf(openCode(err), "open position: %w", err)
		}
		p.files[i] = f
		if i == 0 {
			if err := filelock.Hold(f); err != nil {
				return nil, whittle.Errorf(whittle.Unavailable, "lock position: %w", err).
					WithHint("another process drains into a sink from this folder; there can be one")
			}
		}
		b, err := io.ReadAll(io.LimitReader(f, maxCheckpoint+block))
		if err != nil {
			return nil, whittle.Errorf(whittle.Unavailable, "read position: %w", err)
		}
		if len(b) > 0 {
			written++
		}
		if generation, body, err := decodeCheckpoint(b); err == nil && generation > p.generation {
			p.generation, p.body, p.next = generation, body, 1-i
		}
	}
	if p.body == nil && written == 2 {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "neither position file in %s is what was written", dir).
			WithHint("move both away to drain the log from its first record again; the sink then gets doubles")
	}
	if err := durable.Sync(dir); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "open position: %w", err)
	}
	return p, nil
}

// openPosition opens or makes a file, and nothing that is none: a pipe would have its
// reader wait.
func openPosition(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New(path + " is no regular file")
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

func openCode(err error) whittle.Code {
	if errors.Is(err, fs.ErrPermission) {
		return whittle.PermissionDenied
	}
	return whittle.Unavailable
}

// save writes v over the older of the two files; it is on disk when save returns.
func (p *checkpointStore) save(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) > maxCheckpoint-headLen {
		return whittle.Errorf(whittle.ResourceExhausted, "a position of %d bytes; %d are the limit", len(body), maxCheckpoint)
	}
	f := p.files[p.next]
	if _, err := f.WriteAt(encodeCheckpoint(p.generation+1, body), 0); err != nil {
		return whittle.Errorf(whittle.Unavailable, "save position: %w", err)
	}
	if err := f.Sync(); err != nil {
		return whittle.Errorf(whittle.Unavailable, "save position: %w", err)
	}
	p.generation++
	p.next = 1 - p.next
	return nil
}

// load returns the checkpoint that was saved last.
func (p *checkpointStore) load() (checkpoint, error) {
	var at checkpoint
	if err := json.Unmarshal(p.body, &at); err != nil {
		return at, whittle.Errorf(whittle.FailedPrecondition, "load position: %w", err)
	}
	if !at.valid() {
		return at, whittle.Errorf(whittle.FailedPrecondition, "load position: it is not one of this version")
	}
	return at, nil
}

func (p *checkpointStore) close() {
	for _, f := range p.files {
		if f != nil {
			f.Close()
		}
	}
}
