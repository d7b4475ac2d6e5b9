package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"whittle"
	"whittle/internal/filelock"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/durable"
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
	// Sum is the CRC-32C of the state as JSON without it. 0: by a version that wrote none.
	Sum uint32 `json:"sum,omitempty"`
}

// encode is the state as JSON, with its sum.
func (s *replayState) encode() ([]byte, error) {
	s.Sum = 0
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	s.Sum = stream.Checksum(text)
	return json.Marshal(s)
}

// intact reports whether the state is what was written.
func (s *replayState) intact() bool {
	sum := s.Sum
	_, err := s.encode()
	return err == nil && (sum == 0 || s.Sum == sum)
}

// replayedTo is how far the replay of a partition is.
type replayedTo struct {
	// Next is the first offset that is not on the other side, and Beyond are
	// those behind it that are.
	Next   string   `json:"next"`
	Beyond []string `json:"beyond,omitempty"`
	// Last is where the last record before Next lies that was sent, Fingerprint tells it
	// from another stream's, and End is where the partition ended.
	Last        string             `json:"last,omitempty"`
	Fingerprint stream.Fingerprint `json:"fingerprint"`
	End         string             `json:"end,omitempty"`
}

// recheck fails where a partition is another or shorter than the one that was replayed:
// what is new in it would count as sent.
func (r *replayedTo) recheck(ctx context.Context, src stream.Stream, p stream.Partition, path string) error {
	const hint = "is it another stream, or an older copy of it? Name another file by --state, and all of it is sent, under its ids"
	if end := cmp.Or(r.End, r.Next); p.Next.Offset != "" && stream.CompareOffsets(p.Next.Offset, end) < 0 {
		return whittle.Errorf(whittle.FailedPrecondition, "partition %s ends before offset %s, and by --state %s it went up to %s", p.Name, p.Next.Offset, path, end).WithHint(hint)
	}
	err := stream.Recheck(ctx, src, p, r.Last, r.Fingerprint)
	if whittle.CodeOf(err) == whittle.FailedPrecondition {
		return whittle.Errorf(whittle.FailedPrecondition, "this is not the stream that --state %s is of: %w", path, err).WithHint(hint)
	}
	return err
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
	if info, err := os.Stat(s.path); err == nil && !info.Mode().IsRegular() {
		return whittle.Errorf(whittle.Invalid, "read --state: %s is no regular file", s.path)
	}
	if _, err := os.Lstat(s.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := os.ReadFile(s.path)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read --state: %w", err)
	}
	if err := json.Unmarshal(text, s); err != nil || s.Partitions == nil || !s.intact() {
		return whittle.Errorf(whittle.Invalid, "%s is not the state of a replay, or is damaged", s.path).
			WithHint("name another file by --state, or remove it to begin anew: all is sent then, under its ids")
	}
	if s.Label != label {
		return whittle.Errorf(whittle.Invalid, "%s is the state of another replay: %s", s.path, s.Label).
			WithHint("name another file by --state, or remove it to begin anew")
	}
	return nil
}

// save returns when the state is on the disk.
func (s *replayState) save() error {
	if s.path == "" {
		return nil
	}
	text, err := s.encode()
	if err == nil {
		err = durable.WriteFile(s.path, text)
	}
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "write --state: %w", err)
	}
	return nil
}
