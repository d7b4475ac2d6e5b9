package scaffold

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"whittle"
	"whittle/contract"
)

const (
	manifestName   = ".whittle.json"
	manifestFormat = "whittle.new/1"
	// maxManifest bounds what is read of a project's own files, in bytes.
	maxManifest = 64 << 20
)

// manifest records how a project was made: the contract, whose numbers must
// stay, and a hash of each file, which shows whether a person has changed it.
type manifest struct {
	Format   string             `json:"format"`
	Module   string             `json:"module"`
	Contract *contract.Contract `json:"contract"`
	// Files are the SHA-256 of what was written, by path.
	Files map[string]string `json:"files"`
}

// file is one of the project's.
type file struct {
	path    string // below the project, with slashes
	content []byte
	// generated files are always overwritten; nobody should edit them.
	generated bool
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// readManifest gives an empty one for a folder that is empty or not there.
func readManifest(dir string) (*manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		inside, err := os.ReadDir(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && onlyGit(inside):
			return &manifest{}, nil
		case err != nil:
			return nil, whittle.Errorf(whittle.Invalid, "read project: %w", err)
		}
		return nil, whittle.Errorf(whittle.FailedPrecondition, "write project: %s holds files that whittle did not make", dir).
			WithHint("give --to a folder that is empty, does not exist yet, or was made by whittle new")
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read project: %w", err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil || m.Format != manifestFormat || len(b) > maxManifest {
		return nil, whittle.Errorf(whittle.Invalid, "read project: %s is not one of this version", filepath.Join(dir, manifestName)).
			WithHint("restore it from version control: field numbers come from it")
	}
	return &m, nil
}

// onlyGit reports whether a folder contains nothing but a fresh repository,
// which counts as empty.
func onlyGit(inside []fs.DirEntry) bool {
	return !slices.ContainsFunc(inside, func(e fs.DirEntry) bool { return e.Name() != ".git" })
}

func (m *manifest) save(dir string) error {
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return whittle.Errorf(whittle.Internal, "write project: %w", err)
	}
	return put(filepath.Join(dir, manifestName), append(b, '\n'))
}

// remember keeps what an earlier run wrote and this one did not reach.
func (m *manifest) remember(before *manifest) {
	for path, sum := range before.Files {
		if _, known := m.Files[path]; !known {
			m.Files[path] = sum
		}
	}
}

func put(path string, content []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, content, 0o666)
	}
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "write project: %w", err)
	}
	return nil
}

// write writes the files except those that a person has changed.
func (p *Project) write(files []file, before, after *manifest) error {
	for _, f := range files {
		if f.generated && p.Frozen {
			p.Kept = append(p.Kept, f.path)
			after.Files[f.path] = before.Files[f.path]
			continue
		}
		path := filepath.Join(p.Dir, filepath.FromSlash(f.path))
		there, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return whittle.Errorf(whittle.Unavailable, "write project: %w", err)
		}
		was, known := before.Files[f.path]
		switch {
		case err == nil && sum(there) == sum(f.content):
			p.Same = append(p.Same, f.path)
		case err == nil && !f.generated && (!known || sum(there) != was), err != nil && known && !f.generated:
			// Changed, or removed, by a person. What was written last stays
			// known, so that the change goes on to show.
			p.Kept = append(p.Kept, f.path)
			after.Files[f.path] = was
			continue
		default:
			if err := put(path, f.content); err != nil {
				return err
			}
			p.Written = append(p.Written, f.path)
		}
		after.Files[f.path] = sum(f.content)
	}
	return nil
}

// isTheirs reports whether a person has changed the .proto file. It is theirs
// from then on, with all that is generated from it.
func (m *manifest) isTheirs(dir, proto string) (bool, error) {
	there, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(proto)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, whittle.Errorf(whittle.Unavailable, "write project: %w", err)
	}
	was, known := m.Files[proto]
	return known && (err != nil || sum(there) != was), nil
}

// dropOld removes what an earlier run wrote and this one does not, unless a
// person has changed it.
func (p *Project) dropOld(before, after *manifest) error {
	for _, path := range slices.Sorted(maps.Keys(before.Files)) {
		if _, still := after.Files[path]; still || !filepath.IsLocal(path) {
			continue
		}
		full := filepath.Join(p.Dir, filepath.FromSlash(path))
		there, err := os.ReadFile(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil || sum(there) != before.Files[path]:
			p.Kept = append(p.Kept, path)
			continue
		}
		if err := os.Remove(full); err != nil {
			return whittle.Errorf(whittle.Unavailable, "write project: %w", err)
		}
	}
	return nil
}

// withoutExamples removes the failures' example responses, which the manifest
// does not need.
func withoutExamples(c *contract.Contract) *contract.Contract {
	out := *c
	out.Methods = slices.Clone(c.Methods)
	for i := range out.Methods {
		out.Methods[i].Failures = slices.Clone(out.Methods[i].Failures)
		for j := range out.Methods[i].Failures {
			out.Methods[i].Failures[j].Example = whittle.Response{}
		}
	}
	return &out
}
