package cmdline

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"whittle"
	"whittle/internal/chart"

	"golang.org/x/term"
)

// WriteJSON writes v to a file, or to standard output for "-".
func WriteJSON(s Streams, path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return whittle.Errorf(whittle.Internal, "encode %s: %w", path, err)
	}
	b = append(b, '\n')
	if path == "-" {
		_, err = s.Out.Write(b)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write report: %w", err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write report: %w", err)
	}
	return nil
}

// WritePage writes a page to a file, and makes its folder.
func WritePage(path string, p *chart.Page) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write page: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "write page: %w", err)
	}
	defer f.Close()
	if err := p.WriteHTML(f); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write page: %w", err)
	}
	return f.Close()
}

// Streams are the command's three files, so that tests can hold them.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Terminal reports whether out is a person's terminal.
func (s Streams) Terminal() bool {
	f, ok := s.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
