package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whittle/internal/child"
	"whittle/internal/table"
)

// row is what one service came to.
type row struct {
	Service   string `json:"service"`
	Framework string `json:"framework"`
	// EndpointOK and LineOK: the planted ones are the dearest that whittle names.
	EndpointOK bool `json:"endpoint_ok"`
	LineOK     bool `json:"line_ok"`
	// ShareError is how far the endpoint's share is from that by the process's own CPU clock.
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
	Smells []Smell `json:"smells"`
}

type lines struct {
	Lines []struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Only bool   `json:"function_only"`
	} `json:"own_lines"`
	Smells []Smell `json:"smells"`
}

// under runs a service with its users, and what is done meanwhile.
func (s *service) under(ctx context.Context, o settings, planted bool, meanwhile func(*child.Process, *users) error) error {
	p, err := s.start(ctx, planted)
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
	p.Stop()
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
	if err := s.planted(ctx, o, work, &r); err != nil {
		return r, err
	}
	err := s.under(ctx, o, false, func(p *child.Process, u *users) error {
		var f found
		var l lines
		if err := errors.Join(o.ask(ctx, work, p, "find", &f), o.ask(ctx, work, p, "profile", &l)); err != nil {
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

// planted measures a service with its planted line.
func (s *service) planted(ctx context.Context, o settings, work string, r *row) error {
	return s.under(ctx, o, true, func(p *child.Process, u *users) error {
		var f found
		if err := o.ask(ctx, work, p, "find", &f); err != nil {
			return err
		}
		if err := s.ofPlanted(ctx, o, work, p, &f, r); err != nil {
			return err
		}
		u.pause()
		costs, err := s.costs(ctx, p, u)
		r.Truth = s.share(costs)
		if !s.Planted.NoAdvice { // whose share it is nobody can say
			r.ShareError = math.Abs(r.Share - r.Truth)
		}
		return err
	})
}

// ofPlanted judges what whittle find says of the service with its planted line, and
// what whittle profile then says.
func (s *service) ofPlanted(ctx context.Context, o settings, work string, p *child.Process, f *found, r *row) error {
	var l lines
	if err := o.ask(ctx, work, p, "profile", &l); err != nil {
		return err
	}
	if len(f.Endpoints) > 0 {
		r.Endpoint, r.Share = f.Endpoints[0].Endpoint, f.Endpoints[0].Share
	}
	if len(l.Lines) > 0 {
		r.Line = fmt.Sprintf("%s:%d", l.Lines[0].File, l.Lines[0].Line)
		r.LineOK = !l.Lines[0].Only && s.isPlanted(l.Lines[0].File, l.Lines[0].Line)
	}
	r.EndpointOK = r.Endpoint == s.Planted.Endpoint
	if r.Advice = f.Advice; r.Advice == "" {
		r.Advice = "none: " + f.NoAdvice
	}
	r.AdviceOK = strings.HasPrefix(f.Advice, "Carve "+s.Planted.Endpoint+" first")
	if s.Planted.NoAdvice {
		r.EndpointOK, r.AdviceOK = f.Advice == "", f.Advice == ""
	}
	for _, found := range append(f.Smells, l.Smells...) {
		if !slices.Contains(s.Planted.Smells, found.Name) {
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

// smells counts a false one, once.
func (r *row) smells(name string) {
	if !slices.Contains(r.Smells, name) {
		r.Smells = append(r.Smells, name)
		r.FalseSmells++
	}
}

// ask runs a verb of whittle's on a service.
func (o *settings) ask(ctx context.Context, work string, p *child.Process, verb string, into any) error {
	return o.whittle.Ask(ctx, verb, Target(p), filepath.Join(work, verb+".json"), into)
}

// wanted is how far a share may be from the truth.
const wanted = 0.05

// finish prints the sums and writes the rows.
func finish(folder string, rows []row) error {
	endpoints, right, smells, advice, share := 0, 0, 0, 0, 0
	for _, r := range rows {
		endpoints, right = endpoints+count(r.EndpointOK), right+count(r.LineOK)
		smells, advice = smells+r.FalseSmells, advice+count(!r.AdviceOK)
		share += count(r.ShareError <= wanted)
	}
	fmt.Printf("of %d services: endpoint right in %d, line right in %d, share within 5 %% of that by the CPU clock in %d, false smells %d, advice wrong or missing in %d\n",
		len(rows), endpoints, right, share, smells, advice)
	return table.Save(folder, "find", rows)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
