package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"whittle"
)

// replayState is a file that says how far a replay has come, so that it goes on
// exactly there, also after it was killed.
type replayState struct {
	path string
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
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read --state: %w", err)
	}
	if err := json.Unmarshal(text, s); err != nil || s.Partitions == nil {
		return nil, whittle.Errorf(whittle.Invalid, "%s is not the state of a replay", path)
	}
	if s.Label != label {
		return nil, whittle.Errorf(whittle.Invalid, "%s is the state of another replay: %s", path, s.Label).
			WithHint("name another file by --state, or remove it to begin anew")
	}
	return s, nil
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
