package main

import (
	"cmp"
	"fmt"
	"strings"

	"whittle"
	"whittle/internal/chart"
)

// flaw is what is wrong with a service of the demo, with the finding that is its
// own: another flaw's finding, or one that names no cause, does not count for it.
type flaw struct {
	name  string
	named func(*whittle.Finding) bool
}

// publishedFlaws are those of the count service as it was published.
var publishedFlaws = []flaw{
	{"another distribution (0..99 for 0..100)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundMean
	}},
	{"a dropped remainder (jobs of 100,000)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundWrongValue && strings.Contains(f.Cause, "remainder was dropped")
	}},
	{"a wrapped total (32 bits)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundWrongValue && strings.Contains(f.Cause, "32-bit total wrapped")
	}},
	{"a shared seed (the Unix second)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundRepeats // its second is a guess that a slow machine blurs
	}},
}

// The flaws of the export's candidates.
var (
	swapped = flaw{"another request's response in 1 of 200", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundBody && strings.Contains(f.Summary+f.Cause, "another request")
	}}
	askedFirst = flaw{"right only when it is asked second", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundBody && f.Order == whittle.AskedFirst
	}}
)

// finding is the first one that is shown and is the flaw's own, or nil.
func (w *flaw) finding(v *whittle.Verdict) *whittle.Finding {
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Decided && f.Expected == "" && w.named(f) {
			return f
		}
	}
	return nil
}

// namedFlaws says which published flaw was named by which kind of finding.
func namedFlaws(v *whittle.Verdict) map[string]string {
	named := map[string]string{}
	for i := range publishedFlaws {
		if f := publishedFlaws[i].finding(v); f != nil {
			named[publishedFlaws[i].name] = string(f.Kind)
		}
	}
	return named
}

// killed holds a rollback's reason to what a dead service shows: requests that
// fail, and not some difference.
func killed(reason string) error {
	what, _, _ := strings.Cut(reason, ":")
	failure := strings.HasPrefix(what, "The verdict is DIFFERENT after ") && strings.Contains(reason, ": "+string(whittle.FoundFailure)+" proven;")
	if failure || strings.HasSuffix(what, "breaker tripped") || strings.HasPrefix(what, "The errors guard") {
		return nil
	}
	return fmt.Errorf("it was killed, and rolled back for another reason: %s", reason)
}

// flawedSection shows the candidates of the export: how each was found, and how
// many users met it.
func (s *countFigures) flawedSection() chart.Section {
	table := chart.Table{
		Caption: "The flaw, the finding that names it, and what it cost",
		Head:    []string{"flaw", "what differs", "why", "shown after", "greatest share", "users' wrong responses", "ended"},
	}
	wrong, different := 0, 0
	for i := range s.Flawed {
		b := &s.Flawed[i]
		wrong += b.Wrong
		if b.Verdict == whittle.Different {
			different++
		}
		ended := cmp.Or(b.RolledBack, "refused: "+b.Refused)
		table.Rows = append(table.Rows, []string{
			b.Flaw, b.Finding.Summary, b.Finding.Cause, fmt.Sprintf("%d exchanges", b.Finding.DecidedAt),
			fmt.Sprintf("%g %%", b.MaxShare), fmt.Sprintf("%d of %d", b.Wrong, b.Served), ended,
		})
	}
	return chart.Section{
		Title: "Refused and rolled back: what a test of the service alone does not show",
		Facts: []chart.Fact{
			{Label: "called DIFFERENT", Value: fmt.Sprintf("%d of %d", different, len(s.Flawed)), Tone: tone(different == len(s.Flawed))},
			{Label: "users' wrong responses", Value: fmt.Sprint(wrong), Tone: tone(wrong <= mostWrong)},
		},
		Paragraphs: []string{"Accounts' transactions as CSV, compared byte by byte, under whittle's defaults but for the time that a step lasts. The one " +
			"candidate gives another request's response in 1 of 200. The other is right whenever the monolith was asked before it, as a cache makes it that the monolith fills: no mirrored request can show that, and its first users do."},
		Tables: []chart.Table{table},
	}
}

// budgetTable shows what of the harm budget each step could cost at most.
func (b *rolloutBlock) budgetTable() chart.Table {
	table := chart.Table{
		Caption: "The harm budget as each step began, and what the next one waited for",
		Head:    []string{"share", "wrong at most, of the requests", "budget", "compared responses to users", "the next step waited for"},
	}
	for _, h := range b.Harm {
		table.Rows = append(table.Rows, []string{
			fmt.Sprintf("%g %%", h.Share), fmt.Sprintf("%.2g %%", h.Spent), fmt.Sprintf("%g %%", h.Budget), fmt.Sprint(h.Compared), h.Waits,
		})
	}
	return table
}
