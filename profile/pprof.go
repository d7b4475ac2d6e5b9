package profile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"whittle"
)

// Bounds of what is read, whatever its format. A profile of a minute on a large machine is a
// few megabytes.
const (
	MaxBytes   = 64 << 20 // decompressed
	MaxSamples = 2 << 20
	MaxDepth   = 1024     // frames of one stack; the rest, at the root, is dropped
	maxFrames  = 16 << 20 // of all stacks together
)

// Append adds a sample, within the bounds.
func (p *Profile) Append(s Sample) error {
	s.Stack = s.Stack[:min(len(s.Stack), MaxDepth)]
	p.frames += len(s.Stack)
	if len(p.Samples) >= MaxSamples || p.frames > maxFrames {
		return whittle.Errorf(whittle.ResourceExhausted, "read profile: more than %d samples, or %d frames", MaxSamples, maxFrames).
			WithHint("profile for a shorter time, or sample less often")
	}
	p.Samples = append(p.Samples, s)
	return nil
}

// EndpointLabel is the pprof label that names a request's endpoint.
const EndpointLabel = "endpoint"

// pprofTypes are pprof's names of a sample's values: the value, and how many.
var pprofTypes = map[Kind][2]string{
	CPU:         {"cpu", "samples"},
	Allocations: {"alloc_space", "alloc_objects"},
	Mutex:       {"delay", "contentions"},
}

// ReadPprof reads a profile in pprof's format, gzipped or not. kind says which
// of its values is meant; "" takes what it finds first of CPU, Allocations and Mutex,
// which a profile of what blocked is read as, too.
func ReadPprof(b []byte, kind Kind) (*Profile, error) {
	raw, err := gunzip(b)
	var in *profile.Profile
	if err == nil {
		in, err = profile.ParseUncompressed(raw)
	}
	if err == nil {
		err = in.CheckValid()
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read pprof profile: %w", err)
	}
	if len(in.Sample) > MaxSamples {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read pprof profile: more than %d samples", MaxSamples)
	}
	kind, value, objects := pickValues(in, kind)
	if value < 0 {
		return nil, whittle.Errorf(whittle.Invalid, "read pprof profile: it has no %s values, but %s", cmp.Or(kind, "CPU, allocation or lock"), typesOf(in)).
			WithHint("of a Go service /debug/pprof/profile is of the CPU, /debug/pprof/allocs of allocations; --kinds and --kind say which values of a file are meant")
	}
	return fromPprof(in, kind, value, objects)
}

// typesOf names the values that a file has.
func typesOf(in *profile.Profile) string {
	var names []string
	for _, t := range in.SampleType[:min(len(in.SampleType), 8)] {
		names = append(names, t.Type)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// gunzip gives what was gzipped, within the bound of a profile; what was not stays as it is.
func gunzip(b []byte) ([]byte, error) {
	if len(b) < 2 || b[0] != 0x1f || b[1] != 0x8b {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(z, MaxBytes+1))
	if err == nil && len(raw) > MaxBytes {
		err = whittle.Errorf(whittle.ResourceExhausted, "more than %d bytes when decompressed", MaxBytes)
	}
	return raw, err
}

// pickValues gives the places of a kind's value and count among a sample's
// values; -1: not there.
func pickValues(in *profile.Profile, kind Kind) (_ Kind, value, objects int) {
	at := func(name string) int {
		return slices.IndexFunc(in.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
	}
	kinds := []Kind{kind}
	if kind == "" {
		kinds = []Kind{CPU, Allocations, Mutex}
	}
	for _, k := range kinds {
		names := pprofTypes[k]
		if value = at(names[0]); value >= 0 {
			return k, value, at(names[1])
		}
	}
	return kind, -1, -1
}

func fromPprof(in *profile.Profile, kind Kind, value, objects int) (*Profile, error) {
	p := &Profile{
		Kind: kind, Runtime: Go, Began: time.Unix(0, in.TimeNanos), Duration: time.Duration(in.DurationNanos),
		Functions: make([]Function, 0, len(in.Function)), Samples: make([]Sample, 0, len(in.Sample)),
	}
	if len(in.Mapping) > 0 {
		p.Service = in.Mapping[0].File[strings.LastIndexByte(in.Mapping[0].File, '/')+1:]
	}
	intern := interner(p, func(f *profile.Function) Function {
		return Function{
			Name: f.Name, File: ShortFile(f.Filename), Line: int(f.StartLine),
			Owner: goOwner(PackageOf(f.Name), f.Filename), Category: goRules.of(f.Name),
		}
	})
	unknown := &profile.Function{Name: "(unknown)"}
	for _, s := range in.Sample {
		out := Sample{Value: s.Value[value], At: -1}
		if objects >= 0 {
			out.Objects = s.Value[objects]
		}
		if e := s.Label[EndpointLabel]; len(e) > 0 {
			out.Endpoint = e[0]
		}
		for _, l := range s.Location {
			// One location may stand for many inlined calls, and many samples
			// may name it: the bound holds while they are gathered.
			if len(out.Stack) >= MaxDepth {
				break
			}
			if len(l.Line) == 0 {
				out.Stack = append(out.Stack, Frame{Function: intern(unknown)})
			}
			for _, line := range l.Line[:min(len(l.Line), MaxDepth)] { // the innermost inlined call first
				out.Stack = append(out.Stack, Frame{Function: intern(cmp.Or(line.Function, unknown)), Line: int32(line.Line)})
			}
		}
		if err := p.Append(out); err != nil {
			return nil, err
		}
	}
	if !isGo(p.Functions) {
		return nil, whittle.Errorf(whittle.Unsupported, "read pprof profile: it is not a Go program's: no function is in a .go file").WithHint(formats)
	}
	return p, nil
}
