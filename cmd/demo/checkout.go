package main

import (
	"os"
	"os/exec"
	"path/filepath"

	"whittle"
	"whittle/internal/checkout"
)

// repository is what a worked system is run from: its Node services and plans are
// files, its Go services are built next to whittle.
type repository string

// findRepository finds it around the working directory, or around this program.
func findRepository() (repository, error) {
	if root := checkout.Root(); root != "" {
		return repository(root), nil
	}
	return "", whittle.Errorf(whittle.Invalid, "find the worked systems: no checkout of whittle around here").
		WithHint("run it inside the repository: `make demo` there builds everything and starts it")
}

func (r repository) path(parts ...string) string {
	return filepath.Join(append([]string{string(r)}, parts...)...)
}

// binary gives a built command's path: in this program's folder, or in the
// checkout. It says how to build what is missing.
func (r repository) binary(name string) (string, error) {
	if exe, err := os.Executable(); err == nil {
		p := filepath.Join(filepath.Dir(exe), name)
		if s, err := os.Stat(p); err == nil && s.Mode().IsRegular() {
			return p, nil
		}
	}
	p := r.path("bin", name)
	if _, err := os.Stat(p); err != nil {
		return "", whittle.Errorf(whittle.Invalid, "find %s: %w", filepath.Join("bin", name), err).WithHint("build it: make build")
	}
	return p, nil
}

// node gives the interpreter's path after checking that a room's packages are
// installed.
func (r repository) node(rooms ...string) (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", whittle.Errorf(whittle.Invalid, "find node: %w", err).WithHint("install Node.js 20 or newer: apt-get install nodejs npm")
	}
	for _, room := range rooms {
		if _, err := os.Stat(r.path(room, "node_modules")); err != nil {
			return "", whittle.Errorf(whittle.Invalid, "find the npm packages of %s: %w", room, err).WithHint("install them: make deps")
		}
	}
	return node, nil
}
