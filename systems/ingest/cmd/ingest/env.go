package main

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/joho/godotenv"

	"whittle"
)

// defaultEnvFile is read where none is named.
const defaultEnvFile = ".env"

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
	err := godotenv.Load(path)
	if err == nil || path == defaultEnvFile && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return whittle.Errorf(whittle.Invalid, "read env file %s: %w", path, err)
}
