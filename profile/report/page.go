package report

import (
	"cmp"
	"fmt"
	"io"

	"whittle/internal/chart"
	"whittle/internal/units"
	"whittle/profile"
	"whittle/profile/flame"
)

// NoRequest is the name of what belongs to no endpoint.
const NoRequest = "(no request that is known)"

// tables are the report's lists, for the page and the terminal.
func (r *Report) tables() []chart.Table {
	var out []chart.Table
	add := func(caption string, head []string, rows [][]string) {
		if len(rows) > 0 {
			out = append(out, chart.Table{Caption: caption, Head: head, Rows: rows})
		}
	}
	cost := func(ms float64) string {
		if ms == 0 {
			return "–"
		}
		return milliseconds(ms)
	}
	var rows [][]string
	for _, e := range r.Endpoints {
		name, requests := cmp.Or(e.Name, NoRequest), fmt.Sprint(e.Requests)
		if e.Requests == 0 {
			requests = "–"
		}
		rows = append(rows, []string{name, r.percent(e.Share), fmt.Sprint(e.Samples), cost(e.CPUPerRequest), requests})
	}
	add("What each endpoint costs", []string{"endpoint", "CPU", "samples", "per request", "requests"}, rows)
	rows = nil
	for _, s := range r.Sites {
		rows = append(rows, []string{s.Where(), r.percent(s.Share), fmt.Sprint(s.Samples), cost(s.CPUPerRequest), profile.ShortName(s.Function)})
	}
	add("Lines of your own code, with all that they asked of libraries and runtime", []string{"line", "CPU", "samples", "per request", "in"}, rows)
	rows = nil
	for _, c := range r.SystemCalls {
		rows = append(rows, []string{c.Call, r.percent(c.Share), cost(c.CPUPerRequest), c.By})
	}
	add("System calls, the runtime's own among them", []string{"call", "CPU", "per request", "by"}, rows)
	list := func(all []Function) (rows [][]string) {
		for _, f := range all {
			own := ""
			if f.Own {
				own = "*"
			}
			rows = append(rows, []string{profile.ShortName(f.Function), r.percent(f.Self), r.percent(f.Total), cost(f.SelfPerRequest), own, f.Where()})
		}
		return rows
	}
	head := []string{"function", "self", "total", "self a request", "own", "hottest line"}
	add("Hot functions, by what is spent in them", head, list(r.Self))
	add("Hot functions, with what they call", head, list(r.Total))
	rows = nil
	for _, p := range r.Phases {
		rows = append(rows, []string{p.Name, units.Figure(p.Seconds) + " s", units.Figure(p.Cores), cost(p.CPUPerRequest), fmt.Sprint(p.Requests), p.Dearest})
	}
	add("By phase of the load", []string{"phase", "length", "cores", "CPU per request", "requests", "dearest line"}, rows)
	for _, o := range r.Others {
		rows = nil
		for _, s := range o.Sites {
			rows = append(rows, []string{s.Where(), units.Percent(s.Share), profile.ShortName(s.Function)})
		}
		add(fmt.Sprintf("%s: %s", o.Kind, o.amount()), []string{"line", "share", "in"}, rows)
		add("Functions, by themselves", head, list(o.Self))
		add("Functions, with what they call", head, list(o.Total))
	}
	return out
}

// WriteHTML writes the report as one file that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	page := chart.Page{Title: "Where " + r.name() + " spends its CPU", Lead: r.Sentence()}
	flame.Equip(&page)
	first := chart.Section{Facts: []chart.Fact{
		{Value: fmt.Sprint(len(r.Smells)), Label: "known smells", Tone: tone(len(r.Smells) > 0)},
	}}
	if r.cpu != nil {
		first.Facts = append(first.Facts, chart.Fact{Value: units.Figure(r.Cores), Label: "cores in use"})
	} else {
		page.Title = "Profiles of " + r.name()
	}
	if r.Requests > 0 {
		first.Facts = append(first.Facts, chart.Fact{Value: milliseconds(r.CPUPerRequest), Label: "CPU a request"},
			chart.Fact{Value: fmt.Sprint(r.Requests), Label: "requests meanwhile"})
	}
	page.Sections = append(page.Sections, first)
	if len(r.Smells) > 0 {
		s := chart.Section{Title: "What smells"}
		t := chart.Table{Head: []string{"smell", "where", "share", "evidence", "what to do"}}
		for i := range r.Smells {
			x := &r.Smells[i]
			t.Rows = append(t.Rows, []string{x.Title, x.Where(), units.Percent(x.Share), x.Evidence, x.Advice})
		}
		s.Tables = []chart.Table{t}
		page.Sections = append(page.Sections, s)
	}
	if r.cpu != nil {
		fig, err := flame.Of(r.cpu, r.parts...)
		if err != nil {
			return err
		}
		page.Sections = append(page.Sections, chart.Section{Title: "The stacks", Figures: []chart.Figure{fig}})
		var bars []chart.Bar
		for _, p := range r.Parts {
			bars = append(bars, chart.Bar{Label: p.Kind, Value: 100 * p.Share})
		}
		page.Sections = append(page.Sections, chart.Section{Title: "What kind of work", Figures: []chart.Figure{
			chart.Bars("By kind of work", "Share of the CPU time, in %. A stack counts for the kind of what its own code asked for.",
				[]chart.BarGroup{{Name: "CPU", Unit: "%", Bars: bars}}),
		}})
	}
	for _, p := range r.all {
		if p == r.cpu || p.Total() == 0 {
			continue
		}
		fig, err := flame.Of(p)
		if err != nil {
			return err
		}
		page.Sections = append(page.Sections, chart.Section{Title: "The stacks of " + p.Kind.Noun(), Figures: []chart.Figure{fig}})
	}
	page.Sections = append(page.Sections, chart.Section{Title: "In figures", Tables: r.tables()})
	page.Footer = fmt.Sprintf("%s, %s s of %s, begun %s. Made by whittle profile.", r.Service, units.Figure(r.Seconds), r.Runtime, r.Started.Format("2006-01-02 15:04:05 MST"))
	for _, warning := range r.Warnings {
		page.Footer += " Note: " + warning + "."
	}
	return page.WriteHTML(w)
}

func tone(bad bool) chart.Tone {
	if bad {
		return chart.Bad
	}
	return chart.Good
}
