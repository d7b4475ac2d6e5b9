package cmdline

import (
	"runtime/debug"
	"slices"
	"testing"
)

func TestVersionSaysWhatIsKnown(t *testing.T) {
	set := func(kv ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{GoVersion: "go1.26"}
		info.Main.Version = kv[0]
		for i := 1; i < len(kv); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return info
	}
	for _, tt := range []struct {
		info *debug.BuildInfo
		want []string
	}{
		{set("v1.2.3", "vcs.revision", "abc", "vcs.time", "2026-11-23T00:00:00Z", "vcs.modified", "false"), []string{"v1.2.3", "abc", "2026-11-23T00:00:00Z", "go1.26"}},
		{set("v1.2.3", "vcs.revision", "abc", "vcs.modified", "true"), []string{"v1.2.3+dirty", "abc", "go1.26"}},
		{set("v1.2.3+dirty", "vcs.modified", "true"), []string{"v1.2.3+dirty", "go1.26"}},
		{set(""), []string{"go1.26"}},
	} {
		if got := versionOf(tt.info); !slices.Equal(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
