package flame

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"time"

	"whittle/internal/chart"
	"whittle/profile"
)

var (
	//go:embed flame.js
	script string
	//go:embed flame.css
	style string
)

// Equip gives a page what its graphs need.
func Equip(p *chart.Page) { p.Script, p.Style = script, style }

// units are how the script writes a kind's values.
var units = map[profile.Kind]string{
	profile.CPU: "ns", profile.Mutex: "ns", profile.Block: "ns", profile.Allocations: "B", profile.Heap: "B",
}

// graph is what the script reads.
type graph struct {
	Unit string          `json:"unit"`
	Per  string          `json:"per"`
	Diff bool            `json:"diff"`
	Root json.RawMessage `json:"root"`
	// Phases are graphs of parts of the time.
	Phases []part `json:"phases,omitempty"`
}

type part struct {
	Name string          `json:"name"`
	Root json.RawMessage `json:"root"`
}

// Phase is a part of a profile's time, since it began.
type Phase struct {
	Name     string
	From, To time.Duration
}

// Bounds of the phases' graphs: how many there are, and the boxes of each.
const (
	maxPhases     = 16
	maxPhaseNodes = 2000
)

// Of draws the stacks of a profile, and of its phases, among which the page chooses.
func Of(p *profile.Profile, phases ...Phase) (chart.Figure, error) {
	root := newNode("all")
	root.add(p, 1, after)
	g := graph{Unit: units[p.Kind]}
	for _, ph := range phases[:min(len(phases), maxPhases)] {
		n := newNode(ph.Name)
		n.add(p.Between(ph.From, ph.To), 1, after)
		tree, err := n.tree(maxPhaseNodes)
		if err != nil {
			return chart.Figure{}, err
		}
		g.Phases = append(g.Phases, part{ph.Name, tree})
	}
	return figure(g, root, "Stacks by "+p.Kind.Noun(),
		"A box is a function below its callers; its width is what was spent in it and in what it called.",
		[][2]string{{"owner0", "own code"}, {"owner1", "libraries"}, {"owner2", "standard library"}, {"owner3", "runtime"}})
}

// Between draws two profiles as one graph: a box's width is the sum of both,
// its colour who of them spent more.
func Between(first, second *profile.Profile) (chart.Figure, error) {
	g := graph{Unit: units[second.Kind], Diff: true, Per: " a second"}
	perRequest := profile.BothCounted(first, second)
	if perRequest {
		g.Per = " a request"
	}
	root := newNode("all")
	for side, p := range [2]*profile.Profile{first, second} {
		root.add(p, p.Weight(perRequest), side)
	}
	return figure(g, root, "What became dearer and what cheaper",
		"A box's width is what both profiles spent there"+g.Per+", added up; its colour says which spent more.",
		[][2]string{{"dear4", "only after: dearer"}, {"dear2", "more after"}, {"same", "the same"}, {"cheap2", "less after"}, {"cheap4", "only before: cheaper"}})
}

func figure(g graph, root *node, title, caption string, key [][2]string) (chart.Figure, error) {
	var err error
	if g.Root, err = root.tree(maxNodes); err != nil {
		return chart.Figure{}, err
	}
	b, err := json.Marshal(g) // escapes <, > and &, so that no name ends the element
	if err != nil {
		return chart.Figure{}, err
	}
	var out strings.Builder
	out.WriteString(`<div class="flame"><ul class="key">`)
	for _, k := range key {
		fmt.Fprintf(&out, `<li><span class="%s"></span>%s</li>`, k[0], html.EscapeString(k[1]))
	}
	out.WriteString(`</ul><div class="bar"><input type="search" placeholder="Find a function" aria-label="Find a function"><button type="button" class="out" disabled>Show all</button>` +
		`<select class="view" aria-label="View"><option value="tree">Callers first</option><option value="invert">Inverted: what ran first</option><option value="sandwich">Sandwich: one function</option></select>` +
		`<select class="endpoint" aria-label="Endpoint"><option value="">All endpoints</option></select>` +
		`<select class="phase" aria-label="Phase"><option value="">All phases</option></select>` +
		`<label><input type="checkbox" class="fold"> fold libraries</label></div>` +
		`<p class="says" aria-live="polite"></p><div class="stage"></div><script type="application/json">`)
	out.Write(b)
	out.WriteString(`</script><p class="keys">Keys: / search, arrows walk, Enter zooms, Escape shows all, t callers first, i inverted, s sandwich, f fold libraries. What is chosen stands in the address.</p></div>`)
	return chart.Markup(title, caption, out.String()), nil
}
