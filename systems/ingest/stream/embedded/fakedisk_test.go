package embedded

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
)

var (
	errPower = errors.New("the power is off")
	errIO    = errors.New("input/output error")
)

// fakeDisk is a disk that can lose power. What was written is seen by every
// reader at once, as in a system's cache, and survives a loss of power only
// where it was synced; of the rest each sector came to the disk or did not.
type fakeDisk struct {
	mu       sync.Mutex // guards the following and every file
	random   *rand.Rand
	seen     map[string]*fakeFile // names as they are
	kept     map[string]*fakeFile // names as a loss of power leaves them
	capacity int64                // bytes
	locked   bool
	off      bool
	fuse     int     // operations until the power fails; 0: it does not
	failing  float64 // how likely it is that a sync fails
	dying    bool    // the process ends with the first sync that fails
	refusing float64 // how likely it is that a write fails part of the way
	unread   map[string][2]int64
}

// fakeFile is a file of it.
type fakeFile struct {
	seen, kept []byte
	dirty      map[int64]bool // sectors that were written and not synced
}

func newFakeDisk(random *rand.Rand) *fakeDisk {
	return &fakeDisk{random: random, seen: map[string]*fakeFile{}, kept: map[string]*fakeFile{}, capacity: 1 << 40}
}

// operate counts an operation. The caller holds mu.
func (d *fakeDisk) operate() error {
	if d.off {
		return errPower
	}
	if d.fuse > 0 {
		if d.fuse--; d.fuse == 0 {
			d.off = true
			return errPower
		}
	}
	return nil
}

func (d *fakeDisk) Lock() (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return nil, errors.New("locked")
	}
	d.locked = true
	return unlocker{d}, nil
}

type unlocker struct{ d *fakeDisk }

func (u unlocker) Close() error {
	u.d.mu.Lock()
	defer u.d.mu.Unlock()
	u.d.locked = false
	return nil
}

func (d *fakeDisk) List() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, errPower
	}
	return slices.Sorted(maps.Keys(d.seen)), nil
}

func (d *fakeDisk) lockedFree() int64 {
	free := d.capacity
	for _, p := range d.seen {
		free -= int64(len(p.seen))
	}
	return free
}

func (d *fakeDisk) Free() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lockedFree(), nil
}

func (d *fakeDisk) Create(name string, size int64) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.operate(); err != nil {
		return nil, err
	}
	if d.seen[name] != nil {
		return nil, fs.ErrExist
	}
	if d.lockedFree() < size {
		return nil, syscall.ENOSPC
	}
	p := &fakeFile{seen: make([]byte, size), kept: make([]byte, size), dirty: map[int64]bool{}}
	d.seen[name] = p
	return handle{d, p, name}, nil
}

func (d *fakeDisk) Open(name string, _ bool) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, errPower
	}
	if p := d.seen[name]; p != nil {
		return handle{d, p, name}, nil
	}
	return nil, fs.ErrNotExist
}

func (d *fakeDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.operate(); err != nil {
		return err
	}
	if d.seen[name] == nil {
		return fs.ErrNotExist
	}
	delete(d.seen, name)
	return nil
}

func (d *fakeDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.operate(); err != nil {
		return err
	}
	d.kept = maps.Clone(d.seen)
	return nil
}

type handle struct {
	d    *fakeDisk
	p    *fakeFile
	name string
}

func (h handle) Close() error { return nil }

func (h handle) Size() (int64, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return int64(len(h.p.seen)), nil
}

func (h handle) ReadAt(b []byte, at int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.d.off {
		return 0, errPower
	}
	if bad, ok := h.d.unread[h.name]; ok && at < bad[1] && at+int64(len(b)) > bad[0] {
		return 0, errIO
	}
	if at >= int64(len(h.p.seen)) {
		return 0, io.EOF
	}
	n := copy(b, h.p.seen[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h handle) WriteAt(b []byte, at int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.d.off {
		return 0, errPower
	}
	err := h.d.operate()
	if err == nil && h.d.random.Float64() < h.d.refusing {
		err = errIO
	}
	n := len(b)
	if err != nil {
		n = h.d.random.IntN(len(b)/sector) * sector // part of it went before
	}
	copy(h.p.seen[at:], b[:n])
	for s := at / sector; s < (at+int64(n)+sector-1)/sector; s++ {
		h.p.dirty[s] = true
	}
	return n, err
}

// Sync that fails leaves some sectors unwritten and calls them clean, as
// systems do.
func (h handle) Sync() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.operate(); err != nil {
		return err
	}
	failed := h.d.random.Float64() < h.d.failing
	for s := range h.p.dirty {
		if !failed || h.d.random.IntN(2) == 0 {
			h.p.settle(s)
		}
	}
	clear(h.p.dirty)
	if failed {
		h.d.off = h.d.off || h.d.dying
		return errIO
	}
	return nil
}

// Forget leaves of a part what is on the disk.
func (h handle) Forget(from, to int64) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	for s := (from + sector - 1) / sector; (s+1)*sector <= min(to, int64(len(h.p.seen))); s++ {
		if !h.p.dirty[s] {
			copy(h.p.seen[s*sector:(s+1)*sector], h.p.kept[s*sector:])
		}
	}
}

func (h handle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.d.off {
		return errPower
	}
	if err := h.d.operate(); err != nil {
		if h.d.random.IntN(2) == 0 {
			h.p.cut(size)
		}
		return err
	}
	h.p.cut(size)
	for s := range h.p.dirty {
		h.p.settle(s)
	}
	clear(h.p.dirty)
	return nil
}

func (p *fakeFile) cut(size int64) {
	p.seen, p.kept = p.seen[:size:size], p.kept[:size:size]
	for s := range p.dirty {
		if s*sector >= size {
			delete(p.dirty, s)
		}
	}
}

// settle brings a sector to the disk.
func (p *fakeFile) settle(s int64) {
	from := s * sector
	copy(p.kept[from:min(from+sector, int64(len(p.kept)))], p.seen[from:])
}

// powerOff fails every operation from now on. A log that is open may be at work: it
// prepares a segment once the one before is half full, and marks its end every second.
func (d *fakeDisk) powerOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
}

// kill ends the process and nothing else: what it had written is seen.
func (d *fakeDisk) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off, d.fuse, d.locked = false, 0, false
	for name, p := range d.seen {
		d.seen[name] = &fakeFile{seen: slices.Clone(p.seen), kept: slices.Clone(p.kept), dirty: maps.Clone(p.dirty)}
		if d.kept[name] == p {
			d.kept[name] = d.seen[name]
		}
	}
}

// lose takes the power away: each sector that was not synced is as it was or as
// it was written, and each name that was not synced is there or not.
func (d *fakeDisk) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	often := []float64{0, 0.1, 0.5, 0.9, 1}[d.random.IntN(5)] // how much came through
	after := map[string]*fakeFile{}
	for _, names := range []map[string]*fakeFile{d.kept, d.seen} {
		for name, p := range names {
			both := d.kept[name] == p && d.seen[name] == p
			if both || d.random.Float64() < often {
				after[name] = p
			}
		}
	}
	for name, p := range after {
		for s := range p.dirty {
			if d.random.Float64() < often {
				p.settle(s)
			}
		}
		after[name] = &fakeFile{seen: slices.Clone(p.kept), kept: slices.Clone(p.kept), dirty: map[int64]bool{}}
	}
	d.seen, d.kept = after, maps.Clone(after)
	d.off, d.fuse, d.locked = false, 0, false
}

// flip turns one bit of a file, on the disk.
func (d *fakeDisk) flip(name string, bit int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.seen[name]
	p.seen[bit/8] ^= 1 << (bit % 8)
	p.kept[bit/8] = p.seen[bit/8]
}
