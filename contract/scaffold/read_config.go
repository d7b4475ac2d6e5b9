package scaffold

import (
	"path/filepath"
	"slices"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/config"
	"whittle/carve/transcode"
)

const configName = "whittle.yaml"

// readConfig reads a project's config as the gateway does when it starts: the
// file, its routes' contracts, templates and comparisons.
func readConfig(dir string) (*config.File, error) {
	f, err := config.Load(filepath.Join(dir, configName))
	if err != nil {
		return nil, err
	}
	for _, r := range f.Routes {
		if r.RPC != nil {
			if _, err := transcode.New(*r.RPC, transcode.Pattern(r.Match.Pattern)); err != nil {
				return nil, whittle.Errorf(whittle.CodeOf(err), "%s: %w", r.Name, err)
			}
		}
		if _, err := compare.NewJudge(r.Compare); err != nil {
			return nil, whittle.Errorf(whittle.CodeOf(err), "%s: %w", r.Name, err)
		}
	}
	return f, nil
}

// holdConfig reads the config that was made, so that a project is not called
// good whose gateway does not start. What a person has changed is theirs.
func (p *Project) holdConfig() error {
	if slices.Contains(p.Kept, configName) {
		return nil
	}
	if _, err := readConfig(p.Dir); err != nil {
		return whittle.Errorf(whittle.Internal, "read the %s that was made: %w", configName, err).
			WithHint("this is a mistake of whittle new: please report it. Mend the file by hand and run the same command again; it then stays as you made it")
	}
	return nil
}
