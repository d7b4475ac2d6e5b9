package main

import (
	"io"
	"os"
	"path/filepath"

	"whittle"
	"whittle/load/report"
)

// loadOutputs are the files that a load report can be written to in addition to its
// own JSON.
type loadOutputs struct {
	JSONArtillery string `group:"The run" name:"json-artillery" placeholder:"FILE" help:"Write the report as Artillery 2 would."`
	HTML          string `group:"The run" name:"html" placeholder:"FILE" help:"Write the report as one HTML file with plots."`
}

func (o *loadOutputs) write(r *report.Report) error {
	if err := writeFile(o.JSONArtillery, r.WriteArtillery); err != nil {
		return err
	}
	return writeFile(o.HTML, r.WriteHTML)
}

// writeFile makes a file, with its folder, of what write writes; no path, no
// file.
func writeFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	fail := func(err error) error { return whittle.Errorf(whittle.Unavailable, "write report: %w", err) }
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fail(err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fail(err)
	}
	if err := write(f); err != nil {
		f.Close()
		return fail(err)
	}
	if err := f.Close(); err != nil {
		return fail(err)
	}
	return nil
}
