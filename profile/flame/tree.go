// Package flame draws flame graphs of one profile and of the difference of two, with
// higher cost in red and lower cost in green. The page is self-contained, with search
// and zoom.
package flame

import (
	"encoding/json"
	"maps"
	"slices"

	"whittle/profile"
)

// maxNodes bounds a graph: a box thinner than a pixel is merged into its
// parent.
const maxNodes = 12_000

// The sides of a graph. One of one profile has no before.
const (
	before = iota
	after
)

// node is one box: a function below the ones it was called by. Its value is in the kind's
// unit, per request or per second as the page says.
type node struct {
	name     string
	owner    profile.Owner
	file     string
	line     int
	endpoint bool
	value    [2]float64 // before, after
	children map[string]*node
}

func newNode(name string) *node { return &node{name: name, children: map[string]*node{}} }

func (n *node) child(name string) *node {
	c := n.children[name]
	if c == nil {
		c = newNode(name)
		n.children[name] = c
	}
	return c
}

// add puts a profile's samples below n, as one side's: endpoint first, then the stack from
// its root.
func (n *node) add(p *profile.Profile, weight float64, side int) {
	for i := range p.Samples {
		s := &p.Samples[i]
		if len(s.Stack) > 0 && p.Functions[s.Stack[0].Function].Category == profile.Idle {
			continue
		}
		value := float64(s.Value) * weight
		at := n
		at.value[side] += value
		if s.Endpoint != "" {
			at = at.child(s.Endpoint)
			at.owner, at.endpoint = profile.Own, true
			at.value[side] += value
		}
		for depth := len(s.Stack) - 1; depth >= 0; depth-- {
			f := &p.Functions[s.Stack[depth].Function]
			at = at.child(f.Name)
			at.owner, at.file, at.line = f.Owner, f.File, f.Line
			at.value[side] += value
		}
	}
}

// width is what a box's width stands for. In a difference it is both sides'
// sum, so that what is gone and what is new both have their place.
func (n *node) width() float64 { return n.value[before] + n.value[after] }

// box is a node as the page's script reads it, short since there are many.
type box struct {
	Name     string  `json:"n"`
	Owner    int     `json:"o"`
	Endpoint bool    `json:"e,omitempty"`
	File     string  `json:"f,omitempty"`
	Line     int     `json:"l,omitempty"`
	Before   float64 `json:"b,omitempty"`
	After    float64 `json:"a"`
	Children []*box  `json:"c,omitempty"`
}

// boxes gives the tree without what is thinner than least.
func (n *node) boxes(least float64) *box {
	b := &box{Name: n.name, Owner: int(n.owner), Endpoint: n.endpoint, File: n.file, Line: n.line, Before: round(n.value[before]), After: round(n.value[after])}
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		if c := n.children[name]; c.width() >= least {
			b.Children = append(b.Children, c.boxes(least))
		}
	}
	return b
}

// round keeps four digits of what is drawn: more would only make the file large.
func round(v float64) float64 {
	if v >= 1000 || v <= 0 {
		return float64(int64(v + 0.5))
	}
	return float64(int64(v*1000+0.5)) / 1000
}

// count gives the number of boxes that are at least so wide.
func (n *node) count(least float64) int {
	sum := 1
	for _, c := range n.children {
		if c.width() >= least {
			sum += c.count(least)
		}
	}
	return sum
}

// tree gives the graph's JSON, bounded in its number of boxes.
func (n *node) tree(most int) ([]byte, error) {
	least := n.width() / 2000
	for n.count(least) > most {
		least *= 2
	}
	return json.Marshal(n.boxes(least))
}
