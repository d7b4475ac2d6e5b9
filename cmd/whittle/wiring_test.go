package main

import (
	"bytes"
	"cmp"
	"log/slog"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/state"
	"whittle/internal/fatal"
	"whittle/record/redact"
	"whittle/whittletest"
)

func TestRemotePrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("ADMIN_TOKEN", "sixteen-characters")
	write := func(name, text string) {
		t.Helper()
		fatal.Write(t, name, text)
	}
	write("other.yaml", "monolith: http://127.0.0.1:3000\nadmin: {listen: 127.0.0.1:2, token_env: ADMIN_TOKEN}\n")
	write("bad.yaml", "monolith: [\n")
	check := func(name string, r remote, admin, token string) {
		t.Helper()
		c, err := r.dial()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		c.Close()
		if cmp.Or(r.Admin, defaultAdmin) != admin || r.Token != token {
			t.Errorf("%s: %s with token %q, want %s with %q", name, r.Admin, r.Token, admin, token)
		}
	}
	check("nothing", remote{}, defaultAdmin, "")
	check("a named config", remote{Config: "other.yaml"}, "127.0.0.1:2", "sixteen-characters")
	check("the address before the config", remote{Config: "other.yaml", Admin: "127.0.0.1:9"}, "127.0.0.1:9", "sixteen-characters")
	check("the token before the config", remote{Config: "other.yaml", Token: "mine"}, "127.0.0.1:2", "mine")
	write(defaultConfig, "monolith: http://127.0.0.1:3000\nadmin: 127.0.0.1:3\n")
	check("the config by its default name", remote{}, "127.0.0.1:3", "")
	check("a named config before it", remote{Config: "other.yaml"}, "127.0.0.1:2", "sixteen-characters")
	write(defaultConfig, "monolith: [\n")
	check("a broken one that nobody named", remote{}, defaultAdmin, "")
	_, err := (&remote{Config: "bad.yaml"}).dial()
	whittletest.Refused(t, err, whittle.Invalid, "a broken one that was named")
	both := remote{Config: "bad.yaml", Admin: "127.0.0.1:9", Token: "mine"}
	check("a broken one that is not needed", both, "127.0.0.1:9", "mine")
}

// TestWhatNeedsARestart: a listener is another one by its TLS too, and a token that was changed
// because it leaked must not seem to be in force. The other fields are the next test's.
func TestWhatNeedsARestart(t *testing.T) {
	base := func() *config.File {
		return &config.File{
			Listen: []config.Listener{{Address: ":8080", TLS: &config.TLS{Cert: "c", Key: "k"}}}, Admin: "127.0.0.1:8081", AdminToken: "one", State: "whittle.db",
		}
	}
	for name, tc := range map[string]struct {
		change func(*config.File)
		want   []string
	}{
		"nothing":    {func(*config.File) {}, nil},
		"token":      {func(f *config.File) { f.AdminToken = "another" }, []string{"admin"}},
		"two":        {func(f *config.File) { f.Admin, f.State = "", "x" }, []string{"admin", "state"}},
		"no TLS":     {func(f *config.File) { f.Listen[0].TLS = nil }, []string{"listen"}},
		"other cert": {func(f *config.File) { f.Listen[0].TLS = &config.TLS{Cert: "d", Key: "k"} }, []string{"listen"}},
		"same cert":  {func(f *config.File) { f.Listen[0].TLS = &config.TLS{Cert: "c", Key: "k"} }, nil},
		"another":    {func(f *config.File) { f.Listen = append(f.Listen, config.Listener{Address: ":10"}) }, []string{"listen"}},
	} {
		next := base()
		tc.change(next)
		fatal.Same(t, keepStarted(base(), next), tc.want, "%s, the other way", name)
		fatal.Same(t, keepStarted(next, base()), tc.want, "%s", name)
	}
}

// TestEachSettingIsReloadedOrKept: after a reload each field of a config is the new one's or,
// where that takes a restart, the old one's, and the pages list it among those that do.
func TestEachSettingIsReloadedOrKept(t *testing.T) {
	reloaded := []string{"Path", "Monolith", "Routes", "Record", "Redact", "Prometheus", "Notices", "Warnings"}
	all := config.File{
		Path: "new", Listen: []config.Listener{{Address: ":1"}}, Admin: "a", AdminToken: "t", ViewerToken: "v", HookKey: "h", State: "s",
		Monolith: whittle.Upstream{URL: "m"}, Routes: []whittle.Route{{Name: "r"}}, Limits: whittle.Limits{Streams: 1},
		Drain: config.Drain{Upgraded: 1}, Forwarded: config.Forwarded{Trust: []netip.Prefix{{}}},
		Underscores: true, Log: config.Log{Level: slog.LevelDebug}, Access: &config.Access{},
		Record: &config.Record{}, Redact: redact.Rules{Headers: []string{"h"}}, Prometheus: &whittle.Prometheus{}, Fleet: &config.Fleet{},
		Notices: []whittle.Notice{{}}, Warnings: []string{"w"},
	}
	old, next := config.File{}, all
	restart := keepStarted(&next, &old)
	was, is := reflect.ValueOf(all), reflect.ValueOf(next)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.File]()) {
		switch {
		case !f.IsExported():
		case was.FieldByIndex(f.Index).IsZero():
			t.Errorf("%s: this test gives it no value", f.Name)
		case is.FieldByIndex(f.Index).IsZero() == slices.Contains(reloaded, f.Name):
			t.Errorf("%s: kept %v", f.Name, is.FieldByIndex(f.Index).IsZero())
		}
	}
	_, line, _ := strings.Cut(fatal.Read(t, "../../docs/config.md"), "the old one stays in force. ")
	line, _, _ = strings.Cut(line, "take a restart")
	for _, name := range append(restart, "tls") {
		if !strings.Contains(line, "`"+name+"`") {
			t.Errorf("docs/config.md does not say that %s takes a restart: %s", name, line)
		}
	}
}

// TestDamagedStateIsSetAside begins a new file and keeps the old one.
func TestDamagedStateIsSetAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whittle.db")
	store, err := state.Open(path)
	fatal.If(t, err)
	fatal.If(t, store.Save("GET /a", state.Record{Epoch: "one"}))
	fatal.If(t, store.Close())
	whole := fatal.Read(t, path)
	damaged := whole[:100] + strings.Repeat("\xff", len(whole)-100)
	fatal.Write(t, path, damaged)

	var said bytes.Buffer
	store, err = openStore(path, slog.New(slog.NewTextHandler(&said, nil)))
	fatal.If(t, err)
	defer store.Close()
	if r, err := store.Load("GET /a"); err != nil || r.Epoch != "" {
		t.Errorf("the new file has %+v, %v", r, err)
	}
	aside, err := filepath.Glob(path + ".corrupt-*")
	if err != nil || len(aside) != 1 {
		t.Fatalf("kept as %v, %v", aside, err)
	}
	fatal.Same(t, fatal.Read(t, aside[0]), damaged, "what was kept")
	fatal.Has(t, said.String(), "the state file is damaged", aside[0])
}

// TestOpenStoreKeepsOtherTroubles: only damage begins a new file.
func TestOpenStoreKeepsOtherTroubles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.db")
	first, err := openStore(path, slog.New(slog.DiscardHandler))
	fatal.If(t, err)
	defer first.Close()
	_, err = openStore(path, slog.New(slog.DiscardHandler))
	whittletest.Refused(t, err, whittle.Unavailable, "a file in use")
}
