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
	"whittle/profile"
)

// row is what one service came to.
type row struct {
	Service   string `json:"service"`
	Framework string `json:"framework"`
	// EndpointOK and LineOK: the planted ones are the dearest that whittle names.
	EndpointOK bool `json:"endpoint_ok"`
	LineOK     bool `json:"line_ok"`
	// ShareError is how far the endpoint's share is from the true one, both of the CPU of
	// the threads that a profile sees, and from Low to High what it may be with the sign,
	// with 95 % confidence of the samples that both have.
	ShareError float64 `json:"share_error"`
	Low        float64 `json:"share_error_low"`
	High       float64 `json:"share_error_high"`
	// FalseSmells are those of the service without the planted line, and those of
	// the planted one that it has not.
	FalseSmells int `json:"false_smells"`
	// AdviceOK: the planted endpoint is to be carved, and without it none, or the one
	// that is dearest nevertheless, by the process's own CPU clock.
	AdviceOK bool `json:"advice_ok"`

	Share    float64  `json:"share"`
	Samples  int64    `json:"samples"`
	Truth    float64  `json:"share_true"`
	Looks    int64    `json:"samples_true"` // 0: no profile shows it
	Endpoint string   `json:"endpoint"`
	Line     string   `json:"line"`
	Advice   string   `json:"advice"`
	Clean    string   `json:"advice_clean"`
	Smells   []string `json:"smells,omitempty"` // the false ones
}

func (r *row) words() string {
	return fmt.Sprintf("%s: endpoint %t (%s), line %t (%s), share %.3f for %.3f (%+.3f to %+.3f), false smells %q, advice %t (%s / clean: %s)",
		r.Service, r.EndpointOK, r.Endpoint, r.LineOK, r.Line, r.Share, r.Truth, r.Low, r.High, r.Smells, r.AdviceOK, r.Advice, r.Clean)
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
	Samples      int64   `json:"samples"`
	Smells       []Smell `json:"smells"`
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
	if err := s.planted(ctx, o, work, &r); err != nil {
		return r, err
	}
	err := s.under(ctx, o, false, nil, func(p *child.Process, u *users) error {
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

// planted measures a service with its planted line, and the truth.
func (s *service) planted(ctx context.Context, o settings, work string, r *row) error {
	t, err := s.truth(ctx, o, work)
	if err != nil {
		return err
	}
	var mix float64
	if err := s.under(ctx, o, true, nil, func(p *child.Process, u *users) error {
		var f found
		if mix, err = u.mix(func() error { return o.ask(ctx, work, p, "find", &f) }); err != nil {
			return err
		}
		return s.ofPlanted(ctx, o, work, p, &f, r)
	}); err != nil {
		return err
	}
	r.Truth, r.Looks = t.share(mix)
	if s.Planted.NoAdvice {
		return nil // whose share it is nobody can say
	}
	r.ShareError = math.Abs(r.Share - r.Truth)
	r.Low, r.High = difference(r.Share, r.Samples, r.Truth, r.Looks)
	return nil
}

// difference is the 95 % interval of the difference of two shares of so many samples each,
// by Newcombe's method. b with no samples is known.
func difference(a float64, na int64, b float64, nb int64) (low, high float64) {
	lowA, highA := profile.Interval(int64(math.Round(a*float64(na))), na)
	lowB, highB := b, b
	if nb > 0 {
		lowB, highB = profile.Interval(int64(math.Round(b*float64(nb))), nb)
	}
	return a - b - math.Hypot(a-lowA, highB-b), a - b + math.Hypot(highA-a, b-lowB)
}

// ofPlanted judges what whittle find says of the service with its planted line, and
// what whittle profile then says.
func (s *service) ofPlanted(ctx context.Context, o settings, work string, p *child.Process, f *found, r *row) error {
	var l lines
	if err := o.ask(ctx, work, p, "profile", &l); err != nil {
		return err
	}
	if len(f.Endpoints) > 0 {
		seen := max(1-f.OtherThreads, 0.01)
		r.Endpoint, r.Share, r.Samples = f.Endpoints[0].Endpoint, f.Endpoints[0].Share/seen, int64(seen*float64(f.Samples))
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
	endpoints, right, smells, advice, share, beyond := 0, 0, 0, 0, 0, 0
	for _, r := range rows {
		endpoints, right = endpoints+count(r.EndpointOK), right+count(r.LineOK)
		smells, advice = smells+r.FalseSmells, advice+count(!r.AdviceOK)
		share += count(r.ShareError <= wanted)
		beyond += count(r.Low > wanted || r.High < -wanted)
	}
	fmt.Printf("of %d services: endpoint right in %d, line right in %d, share within 5 %% of the truth in %d, and further off by more than chance in %d, false smells %d, advice wrong or missing in %d\n",
		len(rows), endpoints, right, share, beyond, smells, advice)
	return table.Save(folder, "find", rows)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
