package main

import (
	"os"
	"strings"

	"whittle"
	"whittle/systems/daemon"
)

// envFileOf finds --env-file among the arguments: the file must be in the
// environment before the other flags look there for their values.
func envFileOf(args []string) string {
	for i, a := range args {
		if a == "--" {
			break
		}
		if a == "--env-file" && i+1 < len(args) {
			return args[i+1]
		}
		if path, ok := strings.CutPrefix(a, "--env-file="); ok {
			return path
		}
	}
	return daemon.DefaultEnvFile
}

// loadEnvFile puts the file's settings into the process's environment, where
// the AWS SDK looks as well. What is there already stays.
func loadEnvFile(args []string) error {
	path := envFileOf(args)
	values, err := daemon.EnvFile(path)
	if err != nil {
		return err
	}
	for name, value := range values {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return whittle.Errorf(whittle.Invalid, "read env file %s: %s: %w", path, name, err)
		}
	}
	return nil
}
