package profile

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"whittle"
)

// callFrame is V8's name of a function. Lines and columns count from 0.
type callFrame struct {
	FunctionName string   `json:"functionName"`
	Script       scriptID `json:"scriptId"`
	URL          string   `json:"url"`
	LineNumber   int      `json:"lineNumber"`
	ColumnNumber int      `json:"columnNumber"`
}

// scriptID is a text in the inspector's profiles, and a number in older files.
type scriptID string

// UnmarshalJSON reads either.
func (s *scriptID) UnmarshalJSON(b []byte) error {
	*s = scriptID(strings.Trim(string(b), `"`))
	return nil
}

// cpuNode is a stack: the function, and by Children the stacks below it.
type cpuNode struct {
	ID        int64     `json:"id"`
	CallFrame callFrame `json:"callFrame"`
	Children  []int64   `json:"children"`
	// PositionTicks are the lines of the node's samples, with the number of each.
	PositionTicks []lineTicks `json:"positionTicks"`

	parent  int   // index; -1 at the root
	sampled int64 // how many samples it has
	started bool  // nextLine has been asked
}

type lineTicks struct {
	Line  int32 `json:"line"`
	Ticks int64 `json:"ticks"`

	given, due int64
}

// cpuFile is what V8's profiler and --cpu-prof write; times in microseconds.
type cpuFile struct {
	Nodes      []cpuNode `json:"nodes"`
	StartTime  int64     `json:"startTime"`
	EndTime    int64     `json:"endTime"`
	Samples    []int64   `json:"samples"`
	TimeDeltas []int64   `json:"timeDeltas"`
}

// ReadV8CPU reads a .cpuprofile. V8 samples by the clock: the time from one
// sample to the next counts for the stack that the first one saw. Where V8 saw
// nothing to do it says (idle), which no total counts. The lines of the leaves
// are V8's position ticks; those of the callers are not known.
//
// began is the moment at which the profile began: V8's own clock has no date.
func ReadV8CPU(b []byte, began time.Time) (*Profile, error) {
	var in cpuFile
	if err := readJSON(b, &in); err != nil {
		return nil, err
	}
	if len(in.Samples) > MaxSamples || len(in.Nodes) > MaxSamples {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "read V8 profile: more than %d samples or nodes", MaxSamples)
	}
	if len(in.Nodes) == 0 || len(in.TimeDeltas) != len(in.Samples) || in.EndTime < in.StartTime {
		return nil, whittle.Errorf(whittle.Invalid, "read V8 profile: not a .cpuprofile: nodes, samples and timeDeltas do not fit each other")
	}
	at, err := linkNodes(in.Nodes)
	if err != nil {
		return nil, err
	}
	p := &Profile{
		Kind: CPU, Runtime: Node, Began: began,
		Clock: time.Duration(in.StartTime) * time.Microsecond, Duration: time.Duration(in.EndTime-in.StartTime) * time.Microsecond,
	}
	functions := interner(p, functionOf)
	for _, id := range in.Samples {
		if n, ok := at[id]; ok {
			in.Nodes[n].sampled++
		}
	}
	now := in.StartTime
	for i, id := range in.Samples {
		n, ok := at[id]
		if !ok {
			return nil, whittle.Errorf(whittle.Invalid, "read V8 profile: sample %d names no node", i)
		}
		now += in.TimeDeltas[i]
		until := in.EndTime
		if i+1 < len(in.Samples) {
			until = now + in.TimeDeltas[i+1]
		}
		spent := time.Duration(max(until-now, 0)) * time.Microsecond // V8's deltas may be negative
		s := Sample{Value: int64(spent), Objects: 1, At: time.Duration(now-in.StartTime) * time.Microsecond}
		line := in.Nodes[n].nextLine()
		for j, depth := n, 0; j >= 0 && depth < MaxDepth; j, depth = in.Nodes[j].parent, depth+1 {
			at := in.Nodes[j].CallFrame
			if at.FunctionName == "(root)" {
				break
			}
			if strings.HasPrefix(at.URL, InjectedURL) {
				if at.FunctionName == injectedWrapper {
					if len(s.Stack) == 0 {
						line = 0
					}
					continue
				}
				s.Stack, line = append(s.Stack[:0], Frame{Function: functions(injected)}), 0
				break
			}
			s.Stack = append(s.Stack, Frame{Function: functions(at)})
		}
		if len(s.Stack) > 0 {
			s.Stack[0].Line = line
			if err := p.Append(s); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// InjectedURL begins the URLs of scripts that whittle runs in a process while it profiles
// it. What they do is theirs, and not of whoever they interrupt: all of their stack is one
// function, but for the wrapper by which they see an event of the application's, and
// which is left out.
const (
	InjectedURL     = "whittle:"
	injectedWrapper = "value"
)

// injected is that function.
var injected = callFrame{FunctionName: "(whittle)"}

// linkNodes sets each node's parent and gives the index by id. A node has one
// parent, and none is its own ancestor.
func linkNodes(nodes []cpuNode) (map[int64]int, error) {
	at := make(map[int64]int, len(nodes))
	for i := range nodes {
		if _, twice := at[nodes[i].ID]; twice {
			return nil, whittle.Errorf(whittle.Invalid, "read V8 profile: two nodes have the id %d", nodes[i].ID)
		}
		at[nodes[i].ID], nodes[i].parent = i, -1
	}
	for i := range nodes {
		for _, id := range nodes[i].Children {
			child, ok := at[id]
			if !ok || nodes[child].parent >= 0 || child == i {
				return nil, whittle.Errorf(whittle.Invalid, "read V8 profile: its nodes are not a tree")
			}
			nodes[child].parent = i
		}
	}
	reached := 0 // from the roots: a ring has none
	var below []int
	for i := range nodes {
		if nodes[i].parent < 0 {
			below = append(below, i)
		}
	}
	for ; len(below) > 0; reached++ {
		n := below[len(below)-1]
		below = below[:len(below)-1]
		for _, id := range nodes[n].Children {
			below = append(below, at[id])
		}
	}
	if reached != len(nodes) {
		return nil, whittle.Errorf(whittle.Invalid, "read V8 profile: its nodes are not a tree")
	}
	return at, nil
}

// maxSpread bounds the lines of a node, those with the most samples.
const maxSpread = 256

// nextLine gives the line of the node's next sample, 0 where it is not known. V8
// says how many samples each line had, not which, so each line's, and those of
// none, are spread evenly over the node's: a part of the time has the lines in the
// proportion of the whole. Each sample goes to the line to which most is due
// (smooth weighted round robin).
func (n *cpuNode) nextLine() int32 {
	if !n.started {
		n.started = true
		n.completeLines()
	}
	var next *lineTicks
	total := int64(0)
	for i := range n.PositionTicks {
		t := &n.PositionTicks[i]
		ticks := min(max(t.Ticks, 0), MaxSamples)
		t.due, total = t.due+ticks, total+ticks
		if t.given < ticks && (next == nil || t.due > next.due) {
			next = t
		}
	}
	if next == nil {
		return 0
	}
	next.due -= total
	next.given++
	return next.Line
}

// completeLines bounds the lines, and adds what none of them had.
func (n *cpuNode) completeLines() {
	if len(n.PositionTicks) > maxSpread {
		slices.SortStableFunc(n.PositionTicks, func(a, b lineTicks) int { return cmp.Compare(b.Ticks, a.Ticks) })
		n.PositionTicks = n.PositionTicks[:maxSpread]
	}
	left := n.sampled
	for i := range n.PositionTicks {
		left -= min(max(n.PositionTicks[i].Ticks, 0), MaxSamples)
	}
	if left > 0 {
		n.PositionTicks = append(n.PositionTicks, lineTicks{Ticks: left})
	}
}

func readJSON(b []byte, into any) error {
	if len(b) > MaxBytes {
		return whittle.Errorf(whittle.ResourceExhausted, "read V8 profile: more than %d MiB", MaxBytes>>20).
			WithHint("profile for a shorter time, or sample less often: node --cpu-prof --cpu-prof-interval 10000")
	}
	if err := json.Unmarshal(b, into); err != nil { // at most 10,000 levels deep
		return whittle.Errorf(whittle.Invalid, "read V8 profile: %w", err)
	}
	return nil
}

// RegExpOf begins the name of the function that matches a text with a regular
// expression, as V8 has it. The expression follows.
const RegExpOf = "RegExp: "

// Anonymous is the name of a function that has none.
const Anonymous = "(anonymous)"

func functionOf(f callFrame) Function {
	name := cmp.Or(f.FunctionName, Anonymous)
	return Function{
		Name: name, File: ShortFile(f.URL), Line: max(f.LineNumber, -1) + 1,
		Owner: OwnerOfScript(f.URL), Category: nodeCategory(name, f.URL),
		Script: string(f.Script), Column: max(f.ColumnNumber, -1) + 1,
	}
}
