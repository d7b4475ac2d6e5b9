package server

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"whittle"
	"whittle/internal/adminport"
	"whittle/systems/daemon"
)

// config is what flags, environment and .env say together.
type config struct {
	listen, admin   string
	deadline, drain time.Duration
	maxConns        int
	level           slog.Level
	json            bool
	envFile         string
}

func (c *config) register(f *flag.FlagSet) {
	f.StringVar(&c.listen, "listen", ":6666", "public `address`; port 0 takes a free one")
	f.StringVar(&c.admin, "admin", "127.0.0.1:6667", "loopback `address` of health, metrics and pprof")
	f.DurationVar(&c.deadline, "deadline", 30*time.Second, "longest time for one call")
	f.DurationVar(&c.drain, "drain", 10*time.Second, "how long calls under way may take after SIGTERM")
	f.IntVar(&c.maxConns, "max-conns", 4096, "public connections open at once; more wait to be accepted")
	f.TextVar(&c.level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	f.BoolVar(&c.json, "log-json", false, "log in JSON instead of text")
	f.StringVar(&c.envFile, "env-file", daemon.DefaultEnvFile, "`file` with COUNT_* settings; \"\" reads none")
}

// variable is the environment's name of a flag: COUNT_LOG_LEVEL of log-level.
func variable(flagName string) string {
	return "COUNT_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// fill sets each flag that the command line left alone from the environment,
// or from the .env file. An empty value counts as none.
func fill(f *flag.FlagSet, getenv func(string) string) error {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	envFile := f.Lookup("env-file").Value
	if v := getenv(variable("env-file")); v != "" && !given["env-file"] {
		if err := envFile.Set(v); err != nil {
			return whittle.Errorf(whittle.Invalid, "read COUNT_ENV_FILE: %w", err)
		}
	}
	file, err := daemon.EnvFile(envFile.String())
	if err != nil {
		return err
	}
	f.VisitAll(func(fl *flag.Flag) {
		if err != nil || given[fl.Name] || fl.Name == "env-file" {
			return
		}
		name := variable(fl.Name)
		value, from := getenv(name), "the environment"
		if value == "" {
			value, from = file[name], envFile.String()
		}
		if value == "" {
			return
		}
		if bad := fl.Value.Set(value); bad != nil {
			err = whittle.Errorf(whittle.Invalid, "%s=%q in %s is not a value for -%s: %v", name, value, from, fl.Name, bad)
		}
	})
	return err
}

// check finds what no single flag can see.
func (c *config) check(ctx context.Context) error {
	publicPort, err := port(ctx, "listen", c.listen)
	if err != nil {
		return err
	}
	adminPort, err := port(ctx, "admin", c.admin)
	if err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(c.admin)
	switch {
	case !adminport.IsLoopback(host):
		return whittle.Errorf(whittle.Invalid, "-admin %s is not a loopback address", c.admin).
			WithHint("profiles and metrics never leave the machine: use 127.0.0.1, [::1] or localhost")
	case adminPort == publicPort && adminPort != 0:
		return whittle.Errorf(whittle.Invalid, "-admin %s has the public port", c.admin).
			WithHint("give -admin a port of its own")
	case c.deadline <= 0:
		return whittle.Errorf(whittle.Invalid, "-deadline is %v, it must be above 0", c.deadline)
	case c.drain < 0:
		return whittle.Errorf(whittle.Invalid, "-drain is %v, it must not be below 0", c.drain)
	case c.maxConns < 1:
		return whittle.Errorf(whittle.Invalid, "-max-conns is %d, it must be at least 1", c.maxConns)
	}
	return nil
}

func port(ctx context.Context, name, address string) (int, error) {
	_, service, err := net.SplitHostPort(address)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "-%s %q is not host:port", name, address).
			WithHint(fmt.Sprintf("for example -%s 127.0.0.1:6666, or port 0 for a free one", name))
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "-%s %q has no usable port", name, address)
	}
	return n, nil
}
