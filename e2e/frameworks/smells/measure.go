package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"whittle/e2e/frameworks/profiled"
	"whittle/internal/child"
)

// row is what one mistake came to in one framework.
type row struct {
	Framework string `json:"framework"`
	Smell     string `json:"smell"`
	// Named: the smell is; LineOK: at its line.
	Named  bool `json:"named"`
	LineOK bool `json:"line_ok"`
	// Wrong are other smells that were named, but for a blocked event loop, which most
	// mistakes bring about where they are large.
	Wrong []string `json:"wrong,omitempty"`
	// FalseSmells are those of the twin, which has none.
	FalseSmells []string `json:"false_smells,omitempty"`
	Share       float64  `json:"share"`
	// Profiles are how many it took until the smell was named, or how many did not.
	Profiles int `json:"profiles"`
}

// most is how many profiles a mistake may take: on a machine that others keep busy one
// has too few samples.
const most = 3

func words(s *profiled.Smell) string { return fmt.Sprintf("%s at %s:%d", s.Name, s.File, s.Line) }

// measure measures all mistakes of a service and their twins, in one process.
func (s *service) measure(ctx context.Context, o *settings, file string) ([]row, error) {
	p, err := profiled.Start(ctx, child.Options{Dir: s.folder}, s.argv...)
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	var rows []row
	for _, f := range s.faults {
		r := row{Framework: s.framework, Smell: f.name}
		for r.Profiles = 1; ; r.Profiles++ {
			found, err := s.under(ctx, o, p, "/fault/"+f.name, file)
			if err != nil {
				return nil, lost(p, err)
			}
			if r.judge(&f, found); r.Named || r.Profiles == most {
				break
			}
		}
		found, err := s.under(ctx, o, p, "/clean/"+f.name, file)
		if err != nil {
			return nil, lost(p, err)
		}
		for _, one := range found {
			r.FalseSmells = append(r.FalseSmells, words(&one))
		}
		fmt.Fprintf(os.Stderr, "%s %s: named %t (profiles: %d), line %t, others %q; the twin %q\n", r.Framework, r.Smell, r.Named, r.Profiles, r.LineOK, r.Wrong, r.FalseSmells)
		rows = append(rows, r)
	}
	return rows, nil
}

// lost says what a service ended with, and what it said.
func lost(p *child.Process, err error) error {
	p.Stop()
	return errors.Join(err, fmt.Errorf("it ended so: %w", cmp.Or(p.Wait(), io.EOF)), errors.New(p.Tail()))
}

// judge holds what was named against the mistake.
func (r *row) judge(f *fault, found []profiled.Smell) {
	for _, one := range found {
		switch at := filepath.Base(one.File) == f.file && one.Line == f.line; {
		case one.Name == f.smell && (at || !r.Named):
			r.Named, r.LineOK, r.Share = true, at, one.Share
		case one.Name != f.smell && one.Name != "event-loop-blocked":
			r.Wrong = append(r.Wrong, words(&one))
		}
	}
}

// under profiles a service while users ask for a path.
func (s *service) under(ctx context.Context, o *settings, p *child.Process, path, file string) ([]profiled.Smell, error) {
	ended := make(chan struct{}) // then each user ends with the request that it is at
	client := profiled.Client(s.framework == "grpc", o.users, 30*time.Second)
	var all sync.WaitGroup
	failed := make(chan error, o.users)
	for range o.users {
		all.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-ended:
					return
				default:
				}
				err := s.ask(ctx, client, p.Public, path)
				if err != nil { // a server that is held up ends connections that it takes for idle
					err = s.ask(ctx, client, p.Public, path)
				}
				if err != nil {
					failed <- fmt.Errorf("%s: %w", path, err)
					return
				}
			}
		})
	}
	var said struct {
		Smells []profiled.Smell `json:"smells"`
	}
	err := o.whittle.Ask(ctx, "profile", profiled.Target(p), file, &said)
	close(ended)
	all.Wait()
	client.CloseIdleConnections()
	close(failed)
	return said.Smells, errors.Join(err, <-failed)
}

// ask sends one request, and reads the response to its end.
func (s *service) ask(ctx context.Context, client *http.Client, addr, path string) error {
	method, url, kind, body := http.MethodGet, "http://"+addr+path, "", []byte(nil)
	switch s.framework {
	case "connect", "grpc":
		method, url, kind = http.MethodPost, "http://"+addr+"/greet.v1.GreetService/Greet", "application/proto" // JSON would be a smell
		if body = append([]byte{1<<3 | 2, byte(len(path))}, path...); s.framework == "grpc" {
			kind, body = "application/grpc", append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Te", "trailers")
	}
	return profiled.Send(client, r)
}
