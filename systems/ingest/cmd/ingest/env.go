package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/joho/godotenv"

	"whittle"
)

const (
	defaultEnvFile = ".env"
	maxEnvFile     = 1 << 20
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
	return defaultEnvFile
}

// loadEnvFile puts the file's settings into the process's environment, where
// the AWS SDK looks as well. What is there already stays.
func loadEnvFile(args []string) error {
	path := envFileOf(args)
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && path == defaultEnvFile {
		return nil
	}
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read env file: %w", err)
	}
	defer file.Close()
	values, err := godotenv.Parse(io.LimitReader(file, maxEnvFile))
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read env file %s: %w", path, err)
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
