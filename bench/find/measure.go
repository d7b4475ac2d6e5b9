package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"whittle/bench/table"
	"whittle/internal/child"
)

// row is what one service came to.
type row struct {
	Service   string `json:"service"`
	Framework string `json:"framework"`
	// EndpointOK and LineOK: the planted ones are the dearest that whittle names.
	EndpointOK bool `json:"endpoint_ok"`
	LineOK     bool `json:"line_ok"`
	// ShareError is how far the endpoint's share is from the true one, both of the CPU of
	// the threads that a profile sees.
	ShareError float64 `json:"share_error"`
	// FalseSmells are those of the service without the planted line, and those of
	// the planted one that it has not.
	FalseSmells int `json:"false_smells"`
	// AdviceOK: the planted endpoint is to be carved, and without it none, or the one
	// that is dearest nevertheless, by the process's own CPU clock.
	AdviceOK bool `json:"advice_ok"`

	Share    float64  `json:"share"`
	Truth    float64  `json:"share_true"`
	Endpoint string   `json:"endpoint"`
	Line     string   `json:"line"`
	Advice   string   `json:"advice"`
	Clean    string   `json:"advice_clean"`
	Smells   []string `json:"smells,omitempty"` // the false ones
}

func (r *row) words() string {
	return fmt.Sprintf("%s: endpoint %t (%s), line %t (%s), share %.3f for %.3f, false smells %q, advice %t (%s / clean: %s)",
		r.Service, r.EndpointOK, r.Endpoint, r.LineOK, r.Line, r.Share, r.Truth, r.Smells, r.AdviceOK, r.Advice, r.Clean)
}

// found is what is looked at of what whittle find writes, and lines of what whittle
// profile does.
type found struct {
	Advice    string `json:"advice"`
	NoAdvice  string `json:"no_advice"`
	Endpoints []struct {
		Endpoint string  `json:"endpoint"`
		Share    float64 `json:"cpu_share"`
	} `json:"endpoints"`
	// OtherThreads is the part of the CPU of threads that run no JavaScript, which no
	// profile of V8's has.
	OtherThreads float64 `json:"cpu_share_other_threads"`
	Smells       []smell `json:"smells"`
}

type lines struct {
	Lines []struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Only bool   `json:"function_only"`
	} `json:"own_lines"`
	Smells []smell `json:"smells"`
}

type smell struct {
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// under runs a service with its users, and what is done meanwhile.
func (s *service) under(ctx context.Context, o settings, planted bool, flags []string, meanwhile func(*child.Process, *users) error) error {
	p, err := s.start(ctx, planted, flags...)
	if err != nil {
		return err
	}
	defer p.Kill()
	u, err := s.load(ctx, p, o.rate)
	if err != nil {
		return err
	}
	if err := errors.Join(meanwhile(p, u), u.end()); err != nil {
		return err
	}
	p.Stop() // not killed: Node writes its profile as it ends
	return nil
}

// measure measures a service with its planted line, and without.
func (s *service) measure(ctx context.Context, o settings, work string) (row, error) {
	r := row{Service: s.name, Framework: s.Framework}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return r, err
	}
	if err := s.build(ctx, work); err != nil {
		return r, err
	}
	truth, mix, err := s.truth(ctx, o, work)
	if err != nil {
		return r, err
	}
	if err := s.under(ctx, o, true, nil, func(p *child.Process, u *users) error {
		var f found
		now, err := u.mix(func() error { return ask(ctx, o, work, &f, "find", s.target(p)) })
		if err != nil {
			return err
		}
		r.Truth = truthAt(truth, mix, now)
		return s.ofPlanted(ctx, o, work, p, &f, &r)
	}); err != nil {
		return r, err
	}
	err = s.under(ctx, o, false, nil, func(p *child.Process, u *users) error {
		var f found
		var l lines
		if err := errors.Join(ask(ctx, o, work, &f, "find", s.target(p)), ask(ctx, o, work, &l, "profile", s.target(p))); err != nil {
			return err
		}
		r.Clean = f.Advice
		u.pause()
		costs, err := s.costs(ctx, p, u)
		if err != nil {
			return err
		}
		r.AdviceOK = r.AdviceOK && (f.Advice == "" || s.dearest(f.Advice, costs))
		for _, smell := range append(f.Smells, l.Smells...) {
			r.smells("clean: " + smell.Name)
		}
		return nil
	})
	return r, err
}

// ofPlanted judges what whittle find says of the service with its planted line, and
// what whittle profile then says.
func (s *service) ofPlanted(ctx context.Context, o settings, work string, p *child.Process, f *found, r *row) error {
	var l lines
	if err := ask(ctx, o, work, &l, "profile", s.target(p)); err != nil {
		return err
	}
	if len(f.Endpoints) > 0 {
		r.Endpoint, r.Share = f.Endpoints[0].Endpoint, f.Endpoints[0].Share/max(1-f.OtherThreads, 0.01)
	}
	if len(l.Lines) > 0 {
		r.Line = fmt.Sprintf("%s:%d", l.Lines[0].File, l.Lines[0].Line)
		r.LineOK = !l.Lines[0].Only && s.isPlanted(l.Lines[0].File, l.Lines[0].Line)
	}
	r.EndpointOK = r.Endpoint == s.Planted.Endpoint
	r.ShareError = math.Abs(r.Share - r.Truth)
	if r.Advice = f.Advice; r.Advice == "" {
		r.Advice = "none: " + f.NoAdvice
	}
	r.AdviceOK = strings.HasPrefix(f.Advice, "Carve "+s.Planted.Endpoint+" first")
	if s.Planted.NoAdvice {
		r.EndpointOK, r.ShareError = f.Advice == "", 0
		r.AdviceOK = f.Advice == ""
	}
	for _, found := range append(f.Smells, l.Smells...) {
		if !s.smellsOf(found) {
			r.smells(found.Name)
		}
	}
	return nil
}

// isPlanted reports whether a line is the planted one.
func (s *service) isPlanted(file string, line int) bool {
	at, err := filepath.Abs(filepath.Join(s.folder, s.file))
	return err == nil && line == s.line && strings.HasSuffix(at, "/"+strings.TrimPrefix(file, "/"))
}

// smellsOf reports whether a smell is the planted line's.
func (s *service) smellsOf(found smell) bool {
	for _, name := range s.Planted.Smells {
		if name == found.Name {
			return true
		}
	}
	return false
}

// smells counts a false one, once.
func (r *row) smells(name string) {
	for _, known := range r.Smells {
		if known == name {
			return
		}
	}
	r.Smells = append(r.Smells, name)
	r.FalseSmells++
}

// ask runs whittle, and reads its JSON. Exit status 1 is a finding.
func ask(ctx context.Context, o settings, work string, into any, verb, target string) error {
	file := filepath.Join(work, verb+".json")
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, o.whittle, verb, target, "--duration", o.length.String(), "--json", file).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		return fmt.Errorf("whittle %s: %w\n%s", verb, err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("whittle %s: %w\n%s", verb, err, out)
	}
	return json.Unmarshal(b, into)
}

// finish prints the sums and writes the rows.
func finish(folder string, rows []row) error {
	endpoints, right, smells, advice, share := 0, 0, 0, 0, 0
	for _, r := range rows {
		endpoints, right = endpoints+count(r.EndpointOK), right+count(r.LineOK)
		smells, advice = smells+r.FalseSmells, advice+count(!r.AdviceOK)
		share += count(r.ShareError <= 0.05)
	}
	fmt.Printf("of %d services: endpoint right in %d, line right in %d, share within 5 %% of the truth in %d, false smells %d, advice wrong or missing in %d\n",
		len(rows), endpoints, right, share, smells, advice)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(map[string]any{
		"benchmark": "find", "at": time.Now().UTC().Truncate(time.Second), "machine": table.ThisMachine(), "rows": rows,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "bench-find.json"), append(b, '\n'), 0o644)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
