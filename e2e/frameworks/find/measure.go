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
	"slices"
	"strconv"
	"strings"

	"whittle/internal/child"
	"whittle/internal/cputime"
	"whittle/internal/table"
	"whittle/profile"
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
	// FalseSmells are those of the clean service, and those that the planted one has not.
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

// said is what is looked at of what whittle find writes, and whittle profile.
type said struct {
	Advice    string `json:"advice"`
	NoAdvice  string `json:"no_advice"`
	Endpoints []struct {
		Endpoint string  `json:"endpoint"`
		Share    float64 `json:"cpu_share"`
	} `json:"endpoints"`
	Lines []struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Only bool   `json:"function_only"`
	} `json:"own_lines"`
	Smells []struct {
		Name string `json:"name"`
	} `json:"smells"`
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
	if err := errors.Join(os.MkdirAll(work, 0o755), s.build(ctx, work)); err != nil {
		return r, err
	}
	for _, planted := range []bool{true, false} {
		err := s.under(ctx, o, planted, func(p *child.Process, u *users) error {
			var f, l said
			if err := errors.Join(o.ask(ctx, work, p, "find", &f), o.ask(ctx, work, p, "profile", &l)); err != nil {
				return err
			}
			u.pause()
			costs, err := s.costs(ctx, p, u)
			if err != nil {
				return err
			}
			if planted {
				s.ofPlanted(f, l, &r)
				r.Truth = s.share(costs)
				if !s.Planted.NoAdvice { // whose share it is nobody can say
					r.ShareError = math.Abs(r.Share - r.Truth)
				}
				return nil
			}
			r.Clean = f.Advice
			r.AdviceOK = r.AdviceOK && (f.Advice == "" || s.dearest(f.Advice, costs))
			for _, found := range append(f.Smells, l.Smells...) {
				r.smells("clean: " + found.Name)
			}
			return nil
		})
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// ofPlanted judges what whittle find and profile say of the service with its planted line.
func (s *service) ofPlanted(f, l said, r *row) {
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

// ask runs a verb of whittle's on a service, and reads the JSON that it writes. Exit status 1
// is a finding.
func (o *settings) ask(ctx context.Context, work string, p *child.Process, verb string, into *said) error {
	file := filepath.Join(work, verb+".json")
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, o.whittle, verb, target(p), "--duration", o.length.String(), "--json", file).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		return fmt.Errorf("whittle %s: %w\n%s", verb, err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("whittle %s: %w\n%s", verb, err, out)
	}
	return json.Unmarshal(b, into)
}

// target is how whittle is pointed at a service: at its pprof, or at its process.
func target(p *child.Process) string {
	if p.Admin != "" {
		return "http://" + p.Admin
	}
	return strconv.Itoa(p.Pid())
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

// costs are those of each request alone, by the process's own CPU clock, in nanoseconds.
func (s *service) costs(ctx context.Context, p *child.Process, u *users) ([]float64, error) {
	const rounds, each = 5, 30
	out := make([]float64, len(s.Load))
	for range rounds {
		for i := range s.Load {
			before, err := cputime.Of(p.Pid())
			if err != nil {
				return nil, err
			}
			for range each {
				if err := u.ask(ctx, p.Public, &s.Load[i]); err != nil {
					return nil, err
				}
			}
			after, err := cputime.Of(p.Pid())
			if err != nil {
				return nil, err
			}
			out[i] += float64(after-before) / (rounds * each)
		}
	}
	return out, nil
}

// dearest reports whether no other endpoint costs more than the advised one, but for chance.
func (s *service) dearest(advice string, costs []float64) bool {
	endpoint, ok := strings.CutPrefix(advice, "Carve ")
	endpoint, _, _ = strings.Cut(endpoint, " first: ")
	var named, most float64
	for i, r := range s.Load {
		most = max(most, costs[i])
		if profile.SameEndpoint(endpoint, r.Method+" "+r.Path) {
			named = max(named, costs[i])
		}
	}
	return ok && named >= 0.95*most
}

// share is the planted endpoint's part of the CPU, where each request is sent equally often.
func (s *service) share(costs []float64) float64 {
	dear, all := 0.0, 0.0
	for i := range s.Load {
		all += costs[i]
		if profile.SameEndpoint(s.Planted.Endpoint, s.Load[i].Method+" "+s.Load[i].Path) {
			dear += costs[i]
		}
	}
	return dear / max(all, 1)
}
