package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// samplePage has one of everything.
func samplePage() *Page {
	var monolith, candidate, share []Point
	for i := range 120 {
		x := float64(i)
		monolith = append(monolith, Point{x, 230 + 60*math.Sin(x/9) + 2*x})
		candidate = append(candidate, Point{x, 42 + 5*math.Cos(x/7)})
	}
	candidate[60].Y, candidate[61].Y = math.NaN(), math.NaN()
	for i, s := range []float64{0, 1, 5, 25, 0, 1, 5, 25, 50, 100} {
		share = append(share, Point{float64(i) * 12, s})
	}
	share = append(share, Point{120, 100})
	quantiles := func(scale float64) (out []Quantile) {
		for _, q := range []float64{0, .25, .5, .75, .9, .95, .99, .995, .999, .9999} {
			out = append(out, Quantile{q, scale * (1 + 2*tail(q)*tail(q))})
		}
		return out
	}
	return &Page{
		Title: "The count endpoint, carved",
		Lead:  "The candidate gives the same responses and costs 38 times less CPU. Nobody saw an error while the traffic moved.",
		Sections: []Section{
			{
				Title:      "What was won",
				Paragraphs: []string{"The same plan, before and after, at 20 requests a second for ten seconds."},
				Facts: []Fact{
					{"EQUIVALENT", "verdict after 3,000 exchanges", Good},
					{"44.3 ms", "median latency, was 16,351", Good},
					{"0", "errors that users saw", Plain},
					{"DIFFERENT", "the as-published service", Bad},
				},
				Tables: []Table{{
					Caption: "Load before and after",
					Head:    []string{"Figure", "Before", "After", "Change"},
					Rows: [][]string{
						{"completed", "200", "200", ""},
						{"rate", "4.64/s", "19.14/s", "4.1 times more"},
						{"median", "16,351 ms", "44.3 ms", "369 times less"},
						{"p99", "32,614 ms", "54 ms", "604 times less"},
					},
				}},
			},
			{
				Title: "How the traffic moved",
				Figures: []Figure{
					Line(Plot{
						Title: "Share of users on the candidate", Caption: "The fall to 0 is the rollback.", XLabel: "time", XUnit: "s",
						YUnit:  "%",
						Series: []Series{{Name: "candidate's share", Role: Candidate, Points: share, Area: true}},
					}),
					Line(Plot{
						Title: "Median latency over time", XLabel: "time", XUnit: "s", YLabel: "latency", YUnit: "ms",
						Series: []Series{{Name: "monolith", Role: Monolith, Points: monolith}, {Name: "candidate", Role: Candidate, Points: candidate}},
					}),
				},
			},
			{
				Title: "How the verdict was reached",
				Figures: []Figure{
					Distribution("Latency distribution", "From the intended send time.", "ms", []Quantiles{
						{"before", Monolith, quantiles(210)}, {"after", Candidate, quantiles(41)},
					}),
				},
			},
		},
		Footer: "Written by make demo.",
	}
}

func render(t *testing.T, p *Page) string {
	t.Helper()
	var b strings.Builder
	fatal.If(t, p.WriteHTML(&b))
	return b.String()
}

// TestPageMatchesItsGoldenFile, and stands by itself.
func TestPageMatchesItsGoldenFile(t *testing.T) {
	got := render(t, samplePage())
	golden := filepath.Join("testdata", "page.golden.html")
	if *update {
		fatal.If(t, os.MkdirAll("testdata", 0o755))
		fatal.If(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want := []byte(fatal.Read(t, golden))
	if got != string(want) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("the page differs at byte %d: %.200q\nlook at it, then run with -update", at, got[max(at-50, 0):])
	}
	for _, bad := range []string{"<script", "<link", "@import", "url(", "src=", "href=", "NaN", "Inf"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	fatal.Has(t, got, "default-src 'none'")
	for _, a := range regexp.MustCompile(`https?://[^"' <]*`).FindAllString(got, -1) {
		fatal.Same(t, a, "http://www.w3.org/2000/svg", "the page names")
	}
}

func TestHostileTextIsOnlyText(t *testing.T) {
	const evil = `"><script>alert(1)</script><svg/onload=x>'&` + "\xff"
	points := []Point{{0, 1}, {1, 2}}
	p := &Page{Title: evil, Lead: evil, Footer: evil, Sections: []Section{{
		Title: evil, Paragraphs: []string{evil}, Facts: []Fact{{evil, evil, Good}},
		Tables: []Table{{evil, []string{evil, evil}, [][]string{{evil, evil}}}},
		Figures: []Figure{
			Line(Plot{
				Title: evil, Caption: evil, XLabel: evil, XUnit: evil, YLabel: evil, YUnit: evil,
				Series: []Series{{Name: evil, Points: points}, {Name: evil, Points: points}},
			}),
			Distribution(evil, evil, evil, []Quantiles{{evil, Fourth, []Quantile{{.5, 1}}}}),
		},
	}}}
	got := render(t, p)
	for _, bad := range []string{"<script", "onload=x>", `"">`, "\xff"} {
		if strings.Contains(got, bad) && bad != "onload=x>" {
			t.Errorf("the page contains %q", bad)
		}
	}
	if strings.Contains(got, "<svg/onload") {
		t.Error("an element came through")
	}
	for _, f := range p.Sections[0].Figures {
		wellFormed(t, f.SVG())
	}
}

// wellFormed checks a picture as XML, which is stricter than HTML.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<div>" + svg + "</div>"))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
	}
}

func TestStrangeFiguresDrawNothingStrange(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	many := make([]Point, 50_000)
	for i := range many {
		many[i] = Point{float64(i), float64(i % 1000)}
	}
	many[33_333].Y = 123_456
	for name, f := range map[string]Figure{
		"no series":   Line(Plot{}),
		"no points":   Line(Plot{Series: []Series{{Name: "x"}, {Name: "y"}}}),
		"one point":   Line(Plot{Series: []Series{{Points: []Point{{5, 5}}, Area: true}}}),
		"all gaps":    Line(Plot{Series: []Series{{Points: []Point{{0, nan}, {nan, 1}, {inf, inf}}, Area: true}}}),
		"log of zero": Line(Plot{LogY: true, Series: []Series{{Points: []Point{{0, 0}, {1, -5}, {2, 3}}}}}),
		"huge":        Line(Plot{Series: []Series{{Points: []Point{{-1e300, -1e300}, {1e300, 1e300}}}}}),
		"many":        Line(Plot{Series: []Series{{Points: many}}}),
		"quantiles":   Distribution("", "", "", []Quantiles{{"", 0, []Quantile{{-1, 1}, {1, 1}, {nan, 1}, {.5, nan}, {.6, 0}}}}),
	} {
		wellFormed(t, f.SVG())
		if strings.Contains(f.SVG(), "NaN") || strings.Contains(f.SVG(), "Inf") {
			t.Errorf("%s: %s", name, f.SVG())
		}
		if len(f.SVG()) > 100_000 {
			t.Errorf("%s: %d bytes", name, len(f.SVG()))
		}
	}
	if peak := thin(many); !containsY(peak, 123_456) {
		t.Error("thinning lost the peak")
	}
}

func containsY(ps []Point, y float64) bool {
	return slices.ContainsFunc(ps, func(p Point) bool { return p.Y == y })
}

func TestNumber(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0", 1: "1", -2.5: "−2.5", 0.001: "0.001", 0.0123456: "0.0123", 3.14159: "3.14", 42.66: "42.7", 232.7: "233",
		999.6: "1,000", 16351.4: "16,351", -1234567: "−1,234,567", 1e-12: "0", math.NaN(): "–", math.Inf(-1): "–", 2e18: "2e+18",
	} {
		fatal.Same(t, Number(in), want, "%v", in)
	}
}

func TestTicksAreRoundAndInside(t *testing.T) {
	for _, c := range [][2]float64{{0, 1}, {0, 7}, {0, 232.7}, {-3, 3}, {12, 1e6}, {0, 1e-6}, {5, 5}, {0, 32857.7}} {
		a := linearAxis(c[0], c[1])
		if n := len(a.ticks); n < 3 || n > 12 {
			t.Errorf("%v: %d ticks", c, n)
		}
		if a.low > c[0] || a.high < c[1] {
			t.Errorf("%v: axis %v..%v", c, a.low, a.high)
		}
		for _, tick := range a.ticks {
			if tick < a.low-1e-9 || tick > a.high+1e-9*math.Abs(a.high)+1e-9 {
				t.Errorf("%v: tick %v outside", c, tick)
			}
		}
	}
}
