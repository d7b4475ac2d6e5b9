package report

import (
	"cmp"
	"fmt"

	"whittle/internal/chart"
	"whittle/internal/units"
	"whittle/profile"
)

// NoRequest is the name of what belongs to no endpoint.
const NoRequest = "(no request that is known)"

// tables are the report's lists.
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
