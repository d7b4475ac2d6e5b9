package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"whittle"
	"whittle/internal/filelock"
)

// replayState is a file that says how far a replay has come, so that it goes on
// exactly there, also after it was killed.
type replayState struct {
	path string
	lock *os.File // nil: it is not kept
	// Label says what is replayed to where: another replay must not go on by it.
	Label string `json:"label"`
	// Partitions are how far each one is.
	Partitions map[string]*replayedTo `json:"partitions"`
}

// replayedTo is how far the replay of a partition is.
type replayedTo struct {
	// Next is the first offset that is not on the other side, and Beyond are
	// those behind it that are.
	Next   string   `json:"next"`
	Beyond []string `json:"beyond,omitempty"`
}

// readReplayState reads the file, or begins anew where there is none. An empty
// path keeps nothing.
func readReplayState(path, label string) (*replayState, error) {
	s := &replayState{path: path, Label: label, Partitions: map[string]*replayedTo{}}
	if path == "" {
		return s, nil
	}
	if err := s.hold(); err != nil {
		return nil, err
	}
	if err := s.read(label); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// hold keeps another replay from going on by the same file, next to which the lock is.
func (s *replayState) hold() error {
	f, err := os.OpenFile(s.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "lock --state: %w", err)
	}
	if filelock.Hold(f) != nil {
		f.Close()
		return whittle.Errorf(whittle.FailedPrecondition, "another replay goes on by --state %s", s.path).
			WithHint("wait until it has ended, or name another file")
	}
	s.lock = f
	return nil
}

// close lets others go on by it.
func (s *replayState) close() {
	if s.lock != nil {
		s.lock.Close()
	}
}

func (s *replayState) read(label string) error {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read --state: %w", err)
	}
	if err := json.Unmarshal(text, s); err != nil || s.Partitions == nil {
		return whittle.Errorf(whittle.Invalid, "%s is not the state of a replay", s.path)
	}
	if s.Label != label {
		return whittle.Errorf(whittle.Invalid, "%s is the state of another replay: %s", s.path, s.Label).
			WithHint("name another file by --state, or remove it to begin anew")
	}
	return nil
}

// save returns when the state is on the disk.
func (s *replayState) save() (err error) {
	if s.path == "" {
		return nil
	}
	defer func() {
		if err != nil {
			err = whittle.Errorf(whittle.Unavailable, "write --state: %w", err)
		}
	}()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
