package main

import (
	"fmt"

	"whittle/internal/chart"
	"whittle/profile/flame"
	"whittle/profile/report"
)

// report gives the figures, and the page that shows them.
func (d *emojifyDemo) report() (any, *chart.Page, error) {
	p, err := d.page()
	return d.figures, p, err
}

func (d *emojifyDemo) page() (*chart.Page, error) {
	s := &d.figures
	p := &chart.Page{
		Title:  "The line that ate the CPU",
		Lead:   fmt.Sprintf("The same requests cost %s of CPU with one forgotten line, and %s without it.", chart.Milliseconds(s.With.APICPU), chart.Milliseconds(s.Without.APICPU)),
		Footer: fmt.Sprintf("Made by demo emojify on %d cores of %s, started %s.", s.Machine.Cores, s.Machine.CPU, s.Started.Format("2006-01-02 15:04:05 MST")),
	}
	flame.Equip(p)
	bar := func(label string, v float64, role chart.Role) chart.Bar {
		return chart.Bar{Label: label, Value: v, Role: role}
	}
	p.Sections = append(p.Sections, chart.Section{
		Facts: []chart.Fact{
			{Value: fmt.Sprintf("%.0f %%", 100*s.Fall), Label: "less CPU a request, by one line", Tone: chart.Good},
			{Value: fmt.Sprintf("%.1f times", s.With.APICPU/max(s.With.CacheCPU, 1e-9)), Label: "the cache's CPU is what the api used", Tone: chart.Bad},
			{Value: fmt.Sprintf("%.0f/s", s.Without.Rate), Label: "requests in both scenes"},
		},
		Figures: []chart.Figure{chart.Bars("CPU a request", "The api and the cache behind it, for the same requests.", []chart.BarGroup{
			{Name: "api and cache", Unit: "ms", Bars: []chart.Bar{
				bar("api, with the line", s.With.APICPU, chart.Monolith), bar("api, without it", s.Without.APICPU, chart.Monolith),
				bar("cache, with", s.With.CacheCPU, chart.Candidate), bar("cache, without", s.Without.CacheCPU, chart.Candidate),
			}},
		})},
	})
	if s.With.Profile != nil {
		section := chart.Section{Title: "What the profile said", Paragraphs: []string{s.With.Profile.Sentence()}}
		t := chart.Table{Head: []string{"smell", "where", "evidence", "what to do"}}
		for i := range s.With.Profile.Smells {
			x := &s.With.Profile.Smells[i]
			t.Rows = append(t.Rows, []string{x.Title, x.Where(), x.Evidence, x.Advice})
		}
		section.Tables = []chart.Table{t}
		p.Sections = append(p.Sections, section)
	}
	if d.reports[0] != nil && d.reports[1] != nil {
		fig, err := flame.Between(d.reports[0], d.reports[1])
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, chart.Section{
			Title: "Before and after", Paragraphs: []string{report.Compare(d.reports[0], d.reports[1], nil).Sentence()}, Figures: []chart.Figure{fig},
		})
	}
	if s.Guard != nil {
		p.Sections = append(p.Sections, chart.Section{Title: "The guard", Paragraphs: []string{s.Guard.Sentence()}})
	}
	return p, nil
}
