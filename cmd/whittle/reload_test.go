package main

import (
	"slices"
	"testing"

	"whittle/config"
)

// A token that was changed because it leaked must not seem to be in force.
func TestNeedRestart(t *testing.T) {
	base := config.File{Listen: ":1", Admin: "127.0.0.1:2", AdminToken: "one"}
	for _, tt := range []struct {
		name   string
		change func(*config.File)
		want   []string
	}{
		{"nothing", func(*config.File) {}, nil},
		{"the admin's token", func(f *config.File) { f.AdminToken = "another" }, []string{"admin"}},
		{"the admin's address", func(f *config.File) { f.Admin = "" }, []string{"admin"}},
		{"a certificate", func(f *config.File) { f.TLS = &config.TLS{Cert: "c", Key: "k"} }, []string{"tls"}},
		{"two", func(f *config.File) { f.Listen, f.State = ":3", "other.db" }, []string{"listen", "state"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			next := base
			tt.change(&next)
			if got := needRestart(&base, &next); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
