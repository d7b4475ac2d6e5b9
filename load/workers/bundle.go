package workers

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"whittle"
	"whittle/load/script"
)

// Bounds on what is sent with a plan: all of it, and how many files that is.
const (
	maxBundle      = 128 << 20
	maxBundleFiles = 10_000
)

// parcel is a plan with all that it was read from, as a worker reads it: files, by the
// paths that they have here, the folder of its scripts, and the environment. The
// coordinator's records the files that are read with the plan, which are those that a worker needs.
type parcel struct {
	mu sync.Mutex
	// The following is guarded by mu.
	files  map[string][]byte // by their paths
	folder map[string][]byte // of the plan's folder, by their paths there; nil: a folder
	env    map[string]string
	size   int64
	source fs.FS // the plan's folder
	err    error // what could not be taken
	sealed bool  // what is read now is not recorded
}

func newParcel() *parcel {
	return &parcel{files: map[string][]byte{}, folder: map[string][]byte{}, env: map[string]string{}}
}

// ReadFile is whittle.ReadFile, recorded.
func (p *parcel) ReadFile(what, name string, limit int64) ([]byte, error) {
	b, err := whittle.ReadFile(what, name, limit)
	if err == nil {
		err = p.put(p.files, name, b)
	}
	return b, err
}

// Getenv is os.Getenv, recorded.
func (p *parcel) Getenv(name string) string {
	value := os.Getenv(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if value != "" && !p.sealed {
		p.env[name] = value
	}
	return value
}

// Folder gives the files of a plan's folder; those that are read are recorded.
func (p *parcel) Folder(dir string) (fs.FS, error) {
	source, err := script.FolderFS(dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.source = source
	return recording{source, p}, err
}

// put records a file.
func (p *parcel) put(to map[string][]byte, name string, b []byte) error {
	return p.take(to, name, b, int64(len(b)))
}

// take records a file of a size. What is too much is refused by name.
func (p *parcel) take(to map[string][]byte, name string, b []byte, size int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := to[name]; there || p.sealed {
		return nil
	}
	if p.size+size > maxBundle || len(p.files)+len(p.folder) >= maxBundleFiles {
		err := whittle.Errorf(whittle.ResourceExhausted, "%s cannot be sent to workers: a plan with its files has at most %d MiB in %d files", name, maxBundle>>20, maxBundleFiles)
		if p.err == nil {
			p.err = err
		}
		return err
	}
	p.size += size
	to[name] = b
	return nil
}

// recording is a plan's folder.
type recording struct {
	fs.FS
	p *parcel
}

// Open opens a file or a folder.
func (r recording) Open(name string) (fs.File, error) {
	if _, err := r.Stat(name); err != nil {
		return nil, err
	}
	return r.FS.Open(name)
}

// Stat looks at a file or a folder.
func (r recording) Stat(name string) (fs.FileInfo, error) {
	i, err := fs.Stat(r.FS, name)
	switch {
	case err != nil:
		return nil, err
	case i.IsDir():
		return i, r.p.put(r.p.folder, name+"/", nil)
	case !i.Mode().IsRegular():
		return i, nil
	case i.Size() > maxBundle:
		return i, r.p.take(r.p.folder, name, nil, i.Size())
	}
	b, err := fs.ReadFile(r.FS, name)
	if err == nil {
		err = r.p.put(r.p.folder, name, b)
	}
	return i, err
}

// ReadDir lists a folder, and puts its files into the parcel.
func (r recording) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(r.FS, name)
	for _, e := range all {
		if _, err := r.Stat(path.Join(name, e.Name())); err != nil {
			return nil, err
		}
	}
	return all, err
}

// words are what may be the names of variables of the environment.
var words = regexp.MustCompile(`[A-Za-z_]\w*`)

// addMentioned records the variables of the environment whose names stand in files that
// have anything to do with it: scripts may ask for them during the run.
func (p *parcel) addMentioned() {
	for _, text := range p.folder {
		if !bytes.Contains(text, []byte("process.env")) {
			continue
		}
		for _, word := range words.FindAll(text, -1) {
			if value := os.Getenv(string(word)); value != "" {
				p.env[string(word)] = value
			}
		}
	}
}

// manifest lists what a packed parcel has under numbers.
type manifest struct {
	Format string            `json:"format"`
	Files  []string          `json:"files"`
	Env    map[string]string `json:"env"`
	Order  assignment        `json:"order"`
}

// pack makes bytes of the parcel, in which nothing is recorded any more.
func (p *parcel) pack(order assignment) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sealed = true
	if p.err != nil {
		return nil, p.err
	}
	p.addMentioned()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name string, body []byte) error {
		w, err := z.Create(name)
		if err == nil && body != nil {
			_, err = w.Write(body)
		}
		return err
	}
	m := manifest{Format: Format, Files: slices.Sorted(maps.Keys(p.files)), Env: p.env, Order: order}
	head, err := json.Marshal(m)
	err = errors.Join(err, add("manifest", head))
	for i, name := range m.Files {
		err = errors.Join(err, add(fmt.Sprint("files/", i), p.files[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(p.folder)) {
		if name != "./" {
			err = errors.Join(err, add("folder/"+name, p.folder[name]))
		}
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, whittle.Errorf(whittle.Internal, "pack the plan: %w", err)
	}
	return b.Bytes(), nil
}

// lacked are those names, as a worker says them, that are here and were not sent: what
// the plan read during the run alone.
func (p *parcel) lacked(names []string) (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if variable, ok := strings.CutPrefix(name, "$"); ok {
			if p.env[variable] == "" && os.Getenv(variable) != "" {
				out = append(out, name)
			}
			continue
		}
		if _, sent := p.folder[name]; sent || p.source == nil || !fs.ValidPath(name) {
			continue
		}
		if _, err := fs.Stat(p.source, name); err == nil {
			out = append(out, name)
		}
	}
	return out
}

// unpacked is a parcel as a worker has it. A worker has no other files.
type unpacked struct {
	zip   *zip.Reader
	files map[string]string // where they are in the zip
	env   map[string]string
	order assignment // what is to be run of them

	mu     sync.Mutex
	missed map[string]bool // guarded by mu
}

// maxMissed bounds the names of missing files.
const maxMissed = 100

// unpack reads a packed parcel.
func unpack(b []byte) (*unpacked, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read the plan's files: %w", err)
	}
	u := &unpacked{zip: z, files: map[string]string{}, missed: map[string]bool{}}
	total := uint64(0)
	for _, f := range z.File {
		total += f.UncompressedSize64
	}
	if total > maxBundle+maxManifest || len(z.File) > maxBundleFiles+1 {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "the plan's files have %d bytes in %d files", total, len(z.File))
	}
	head, err := u.read("manifest", maxManifest)
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(head, &m); err != nil || m.Format != Format {
		return nil, whittle.Errorf(whittle.Invalid, "the plan's files are of the format %.100q, and this whittle reads %q", m.Format, Format)
	}
	for i, name := range m.Files {
		u.files[name] = fmt.Sprint("files/", i)
	}
	u.env, u.order = m.Env, m.Order
	return u, nil
}

const maxManifest = 4 << 20

// read reads a file of the zip.
func (u *unpacked) read(at string, limit int64) ([]byte, error) {
	f, err := u.zip.Open(at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = whittle.Errorf(whittle.ResourceExhausted, "%s has more than %d bytes", at, limit)
	}
	return b, err
}

// ReadFile reads a file that was sent.
func (u *unpacked) ReadFile(what, name string, limit int64) ([]byte, error) {
	at, ok := u.files[name]
	if !ok {
		return nil, whittle.Errorf(whittle.NotFound, "read %s: %s was not sent with the plan", what, name)
	}
	return u.read(at, limit)
}

// Getenv gives a variable of the coordinator's environment that the plan uses.
func (u *unpacked) Getenv(name string) string {
	value, ok := u.env[name]
	if !ok {
		u.miss("$" + name)
	}
	return value
}

// Folder gives the plan's folder, as far as it was sent.
func (u *unpacked) Folder(string) (fs.FS, error) {
	sub, err := fs.Sub(u.zip, "folder")
	return missing{sub, u}, err
}

func (u *unpacked) miss(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.missed) < maxMissed {
		u.missed[name] = true
	}
}

// settled forgets what was looked for until now: it is not here, either.
func (u *unpacked) settled() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.missed)
}

// lacks are the names of what was looked for and is not there.
func (u *unpacked) lacks() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Sorted(maps.Keys(u.missed))
}

// missing notes the files that are looked for in a folder and are not there.
type missing struct {
	fs.FS
	u *unpacked
}

// Open opens a file that was sent.
func (m missing) Open(name string) (fs.File, error) {
	f, err := m.FS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		m.u.miss(name)
	}
	return f, err
}
