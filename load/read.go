package load

import (
	"bytes"
	"path/filepath"

	"whittle/load/artillery"
	"whittle/load/jmeter"
	"whittle/load/plan"
)

// ReadPlan is Read without properties, an environment or files from elsewhere.
func ReadPlan(path string) (*plan.Plan, error) { return Read(path, plan.Source{}) }

// Read reads a plan's file: Artillery's YAML (or JSON), or a JMeter .jmx.
// Errors carry file, line and column: whittle.Invalid for a mistake,
// whittle.Unsupported for an element that whittle does not run (docs/load.md
// and docs/load-jmeter.md list them), whittle.NotFound where there is no such
// file. Files that the plan names are looked up in its folder unless s.Open is set.
func Read(path string, s plan.Source) (*plan.Plan, error) {
	src, err := s.ReadFile("plan", path, jmeter.MaxBytes)
	if err != nil {
		return nil, err
	}
	s.Folder = filepath.Dir(path)
	if s.Open == nil {
		dir := filepath.Dir(path)
		s.Open = func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			return s.ReadFile("plan", name, plan.MaxFileBytes)
		}
	}
	return Parse(path, src, s)
}

// Parse reads a plan of the given source text; name is for errors.
func Parse(name string, src []byte, s plan.Source) (*plan.Plan, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), " \t\r\n")
	if bytes.HasPrefix(text, []byte("<")) { // XML
		return jmeter.Parse(name, src, s)
	}
	return artillery.Parse(name, src, s)
}
