package main

import (
	"cmp"
	"fmt"

	"whittle"
	"whittle/internal/chart"
)

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
		Paragraphs: []string{"Accounts' transactions as CSV, compared byte by byte, under whittle's defaults but for the time that a step lasts. The one candidate gives another request's response in 1 of 200. The other is right whenever the monolith was asked before it, as a cache makes it that the monolith fills: no mirrored request can show that, and its first users do."},
		Tables:     []chart.Table{table},
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
