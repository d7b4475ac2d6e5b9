package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"whittle/internal/child"
)

// service is what a service.json says, and where it is.
type service struct {
	Framework string `json:"framework"`
	// Build is run in the folder first, and Run starts the service. Empty, both:
	// the folder is a Go program.
	Build []string `json:"build"`
	Run   []string `json:"run"`
	// Planted is what is dear with PLANTED=1.
	Planted struct {
		Endpoint string `json:"endpoint"` // as the framework has it: "GET /things/:id"
		// Smells are those that the planted line has indeed.
		Smells []string `json:"smells"`
		// NoAdvice says that to advise nothing is right: nobody can know the endpoint.
		NoAdvice bool `json:"no_advice"`
	} `json:"planted"`
	Load []request `json:"load"`

	name, folder, runtime string
	file                  string // of the planted line, from the folder on
	line                  int
	binary                string // of a Go program
}

// request is one that the service is sent again and again.
type request struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"` // content-type is application/json unless given
	Body    string            `json:"body"`
	BodyHex string            `json:"body_hex"` // instead: a gRPC message, say
	H2C     bool              `json:"h2c"`      // HTTP/2 without TLS
}

func readService(folder string) (*service, error) {
	b, err := os.ReadFile(filepath.Join(folder, "service.json"))
	if err != nil {
		return nil, err
	}
	s := &service{folder: folder, name: filepath.Base(folder), runtime: filepath.Base(filepath.Dir(folder))}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	if s.name == "http" || s.name == "mux" {
		s.name = s.runtime + "-" + s.name
	}
	return s, s.findPlanted()
}

// findPlanted finds the line that ends in the comment.
func (s *service) findPlanted() error {
	return filepath.WalkDir(s.folder, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && made(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if !strings.HasSuffix(strings.TrimSpace(line), "// planted") {
				continue
			}
			if s.file != "" {
				return fmt.Errorf("%s: two lines are planted", s.folder)
			}
			if s.file, err = filepath.Rel(s.folder, path); err != nil {
				return err
			}
			s.line = n
		}
		return nil
	})
}

// made says that a folder holds what was built or installed, and no source.
func made(folder string) bool {
	return folder == "node_modules" || folder == "dist" || folder == "build" || len(folder) > 1 && folder[0] == '.'
}

// build makes what is to be run. A Go program names its sources where they are: what the
// environment asks of go build otherwise is about other builds.
func (s *service) build(ctx context.Context, work string) error {
	command := s.Build
	if len(s.Run) == 0 {
		s.binary = filepath.Join(work, "service")
		command = []string{"go", "build", "-trimpath=false", "-o", s.binary, "."}
	}
	if len(command) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = s.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// start runs the service. It has 20 seconds to say where it listens.
func (s *service) start(ctx context.Context, planted bool) (*child.Process, error) {
	argv := s.Run
	if s.binary != "" {
		argv = []string{s.binary}
	} else if argv[0] == "node" {
		argv = append([]string{"node", "--inspect-port=0"}, argv[1:]...)
	}
	o := child.Options{Dir: s.folder}
	if planted {
		o.Env = []string{"PLANTED=1"}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return child.Start(ctx, o, argv...)
}
