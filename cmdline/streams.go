package cmdline

import (
	"io"
	"os"

	"golang.org/x/term"
)

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
