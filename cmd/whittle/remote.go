package main

import (
	"cmp"
	"os"

	"whittle/carve/admin"
	"whittle/carve/config"
)

// remote says which running gateway a verb talks to.
type remote struct {
	Admin  string `env:"WHITTLE_ADMIN" placeholder:"ADDRESS" help:"The gateway's admin address. Default: the config's, else 127.0.0.1:8081."`
	Token  string `env:"WHITTLE_TOKEN" placeholder:"TOKEN" help:"The admin API's token. Default: the config's, if it asks for one."`
	Config string `short:"c" placeholder:"FILE" help:"Take address and token from this config. Default: whittle.yaml, where there is one."`
}

const (
	defaultAdmin  = "127.0.0.1:8081"
	defaultConfig = "whittle.yaml"
)

// dial makes a client: what was said on the command line goes before the
// config, and the config before the default.
func (r *remote) dial() (*admin.Client, error) {
	path := r.Config
	if path == "" {
		if _, err := os.Stat(defaultConfig); err == nil {
			path = defaultConfig
		}
	}
	if path != "" && (r.Admin == "" || r.Token == "") {
		f, err := config.Load(path)
		switch {
		case err == nil:
			r.Admin, r.Token = cmp.Or(r.Admin, f.Admin), cmp.Or(r.Token, f.AdminToken)
		case r.Config != "":
			return nil, err
		}
	}
	return admin.Dial(cmp.Or(r.Admin, defaultAdmin), r.Token)
}
