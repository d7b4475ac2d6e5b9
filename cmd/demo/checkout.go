package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"whittle"
)

// checkout is the repository that a worked system is run from: its Node
// services and plans are files, its Go services are built next to whittle.
type checkout string

// findCheckout walks up from the working directory, and then from the binary,
// to the module's root.
func findCheckout() (checkout, error) {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for {
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err == nil && strings.HasPrefix(string(mod), "module whittle\n") {
				return checkout(dir), nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", whittle.Errorf(whittle.Invalid, "find the worked systems: no checkout of whittle around here").
		WithHint("run it inside the repository: `make demo` there builds everything and starts it")
}

func (c checkout) path(parts ...string) string {
	return filepath.Join(append([]string{string(c)}, parts...)...)
}

// binary gives a built command's path: in this program's folder, or in the
// checkout. It says how to build what is missing.
func (c checkout) binary(name string) (string, error) {
	if exe, err := os.Executable(); err == nil {
		if p := filepath.Join(filepath.Dir(exe), name); isFile(p) {
			return p, nil
		}
	}
	p := c.path("bin", name)
	if _, err := os.Stat(p); err != nil {
		return "", whittle.Errorf(whittle.Invalid, "find %s: %w", filepath.Join("bin", name), err).WithHint("build it: make build")
	}
	return p, nil
}

func isFile(path string) bool {
	s, err := os.Stat(path)
	return err == nil && s.Mode().IsRegular()
}

// node gives the interpreter's path after checking that a room's packages are
// installed.
func (c checkout) node(rooms ...string) (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", whittle.Errorf(whittle.Invalid, "find node: %w", err).WithHint("install Node.js 20 or newer: apt-get install nodejs npm")
	}
	for _, room := range rooms {
		if _, err := os.Stat(c.path(room, "node_modules")); err != nil {
			return "", whittle.Errorf(whittle.Invalid, "find the npm packages of %s: %w", room, err).WithHint("install them: make deps")
		}
	}
	return node, nil
}
