package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"whittle/e2e/frameworks/profiled"
)

// frameworks are what each of the two services can serve by.
var frameworks = map[string][]string{
	"node": {"http", "express4", "express5", "koa", "fastify", "nest", "hono", "hapi"},
	"go":   {"net-http", "gorilla", "chi", "gin", "echo", "fiber", "connect", "grpc"},
}

// service is one framework's.
type service struct {
	framework, folder string
	argv              []string
	faults            []fault
}

// fault is a mistake: its name, the smell's, and the line that is to be named.
type fault struct {
	name, smell, file string
	line              int
}

// corpus gives the services that are to be measured, and builds what is to be built.
func corpus(ctx context.Context, s *settings, work string) ([]*service, error) {
	var all []*service
	for _, runtime := range []string{"node", "go"} {
		folder, err := filepath.Abs(filepath.Join(s.services, runtime, "smells"))
		if err != nil {
			return nil, err
		}
		faults, err := readFaults(folder, s.cases)
		if err != nil {
			return nil, err
		}
		argv := []string{"node", "--inspect-port=0", "server.js"}
		if runtime == "go" {
			argv = []string{filepath.Join(work, "smells")}
		}
		for _, name := range frameworks[runtime] {
			if len(s.only) == 0 || slices.Contains(s.only, name) {
				all = append(all, &service{framework: name, folder: folder, argv: append(slices.Clone(argv), name), faults: faults})
			}
		}
		if runtime == "go" && len(all) > 0 && all[len(all)-1].folder == folder {
			if err := profiled.Build(ctx, folder, "go", "build", "-o", argv[0], "."); err != nil {
				return nil, err
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no framework of %v is known", s.only)
	}
	return all, nil
}

var marked = regexp.MustCompile(`// smell: ([\w-]+)$`)

// readFaults finds the lines that are to be named.
func readFaults(folder string, only []string) ([]fault, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "faults.go"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		files = []string{filepath.Join(folder, "faults.js")}
	}
	var all []fault
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			m := marked.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil || len(only) > 0 && !slices.Contains(only, m[1]) {
				continue
			}
			smell, _, _ := strings.Cut(m[1], "_")
			all = append(all, fault{name: m[1], smell: smell, file: filepath.Base(file), line: n})
		}
	}
	return all, nil
}
