package foreign

import (
	"encoding/json"
	"math"
	"time"

	"whittle"
	"whittle/profile"
)

// speedscope is a file as https://www.speedscope.app/file-format-schema.json has it.
type speedscope struct {
	Shared struct {
		Frames []struct {
			Name string `json:"name"`
			File string `json:"file"`
			Line int    `json:"line"`
		} `json:"frames"`
	} `json:"shared"`
	Profiles []struct {
		Type       string    `json:"type"`
		Unit       string    `json:"unit"`
		StartValue float64   `json:"startValue"`
		EndValue   float64   `json:"endValue"`
		Samples    [][]int   `json:"samples"` // the root first
		Weights    []float64 `json:"weights"`
		Events     []struct {
			Type  string  `json:"type"` // O: a frame opens, C: it closes
			Frame int     `json:"frame"`
			At    float64 `json:"at"`
		} `json:"events"`
	} `json:"profiles"`
}

// speedscopeUnits are nanoseconds of a unit.
var speedscopeUnits = map[string]float64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9, "none": float64(perSample)}

// readSpeedscope reads all of a file's profiles, such as one of each thread, as one.
func readSpeedscope(text []byte) (*profile.Profile, error) {
	var in speedscope
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "read speedscope: %w", err)
	}
	frames := make([]frame, len(in.Shared.Frames))
	for i, f := range in.Shared.Frames {
		if f.Name == "UNMANAGED_CODE_TIME" {
			return nil, whittle.Errorf(whittle.Invalid, "read speedscope: it is of .NET's threads, and counts the time that they wait, too").
				WithHint("perf script, of a process with DOTNET_PerfMapEnabled=1, is read")
		}
		if frames[i] = named(f.Name); f.File != "" {
			frames[i] = withSource(f.Name, f.File, f.Line)
		}
	}
	b := newBuilder()
	length := 0.0
	for i := range in.Profiles {
		p := &in.Profiles[i]
		unit, known := speedscopeUnits[p.Unit]
		if p.Unit == "bytes" {
			b.p.Kind, unit, known = profile.Allocations, 1, true
		}
		if !known {
			return nil, whittle.Errorf(whittle.Invalid, "read speedscope: profile %d has the unit %q", i, p.Unit)
		}
		now := p.StartValue
		add := func(stack []int, weight float64) error {
			at := time.Duration(-1)
			if spent := (now - p.StartValue) * unit; p.Unit != "bytes" && p.Unit != "none" && spent >= 0 && spent < maxTotal {
				at = time.Duration(spent)
			}
			now += weight
			value := math.Round(weight * unit)
			if !(value >= 0 && value < maxTotal) {
				return whittle.Errorf(whittle.Invalid, "read speedscope: profile %d has a weight of %v %s", i, weight, p.Unit)
			}
			out := make([]frame, 0, min(len(stack), profile.MaxDepth))
			for j := len(stack) - 1; j >= 0 && len(out) < profile.MaxDepth; j-- {
				if stack[j] < 0 || stack[j] >= len(frames) {
					return whittle.Errorf(whittle.Invalid, "read speedscope: profile %d names frame %d of %d", i, stack[j], len(frames))
				}
				out = append(out, frames[stack[j]])
			}
			objects := int64(1)
			if p.Type == "evented" && b.p.Kind == profile.CPU && p.Unit != "none" { // it knows all of the time, and not samples of it
				objects = max(int64(value)/int64(perSample), 1)
			}
			return b.add(out, int64(value), objects, at)
		}
		switch {
		case p.Type == "sampled" && len(p.Samples) == len(p.Weights):
			for j, stack := range p.Samples {
				if err := add(stack, p.Weights[j]); err != nil {
					return nil, err
				}
			}
		case p.Type == "evented":
			var open []int
			for _, e := range p.Events {
				if err := add(open, e.At-now); err != nil {
					return nil, err
				}
				switch {
				case e.Type == "O" && len(open) < profile.MaxDepth:
					open = append(open, e.Frame)
				case e.Type == "C" && len(open) > 0 && open[len(open)-1] == e.Frame:
					open = open[:len(open)-1]
				default:
					return nil, whittle.Errorf(whittle.Invalid, "read speedscope: the events of profile %d do not nest, or nest deeper than %d", i, profile.MaxDepth)
				}
			}
		default:
			return nil, whittle.Errorf(whittle.Invalid, "read speedscope: profile %d is neither sampled, with a weight for each sample, nor evented", i)
		}
		if p.Unit != "bytes" && p.Unit != "none" {
			length = max(length, (p.EndValue-p.StartValue)*unit)
		}
	}
	if length > 0 && length < maxTotal {
		b.p.Duration = time.Duration(length)
	}
	return b.done("speedscope")
}
