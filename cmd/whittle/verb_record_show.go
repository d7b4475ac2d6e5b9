package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"whittle"
	"whittle/cmdline"
	"whittle/record/journal"
	"whittle/record/show"
)

// followEvery is how often a log that is written to is looked at again.
const followEvery = 200 * time.Millisecond

// defaultShown is how many exchanges are listed unless another number is given.
const defaultShown = 50

type recordShow struct {
	Log    string `arg:"" placeholder:"DIR" help:"A recording's folder, or one of its segments."`
	Number int64  `bound:">0" arg:"" optional:"" name:"n" placeholder:"N" help:"Show this exchange whole, by its number in the list."`
	show.Choice
	Limit  *int64 `bound:">=0" placeholder:"N" help:"How many (50; with --follow or --json all); 0: all."`
	Follow bool   `short:"f" help:"Show exchanges as they are recorded, from now on."`
	JSON   string `name:"json" placeholder:"FILE" help:"Write them as JSON, one a line, with headers and bodies (\"-\": standard output)."`
}

// Help gives the examples.
func (recordShow) Help() string {
	return `Lists exchanges, oldest first, each with the number by which it can be shown whole. Numbers count what the log has now, so they change when old segments go.

Examples:
  whittle record show recorded --route 'POST /Count' --status 5xx
  whittle record show recorded 17
  whittle record show recorded --follow
  whittle record show recorded --json - | jq -r .request.target | sort | uniq -c`
}

// Run shows the exchanges.
func (v *recordShow) Run(ctx context.Context, s cmdline.Streams, c *kong.Context) error {
	filter, err := v.Filter()
	if err != nil {
		return err
	}
	if v.Number != 0 {
		if v.Number < 0 {
			return whittle.Errorf(whittle.Invalid, "record show: there is no exchange %d: the first one is 1", v.Number)
		}
		if flag := cmdline.GivenOf(c, "route", "status", "from", "to", "limit", "follow"); flag != "" {
			return whittle.Errorf(whittle.Invalid, "record show: an exchange is shown by its number alone").
				WithHint("leave out " + flag + ", or the number")
		}
		filter = journal.Filter{}
	}
	if v.Follow && filter.From.IsZero() {
		filter.From = time.Now()
	}
	r, err := journal.Open(v.Log)
	if err != nil {
		return err
	}
	defer r.Close()
	if v.JSON == "" || v.JSON == "-" {
		return v.show(ctx, s, s.Out, r, filter)
	}
	return cmdline.WriteFile(v.JSON, func(w io.Writer) error { return v.show(ctx, s, w, r, filter) })
}

func (v *recordShow) show(ctx context.Context, s cmdline.Streams, w io.Writer, r *journal.Reader, filter journal.Filter) error {
	shown, limit := int64(0), v.limit()
	for {
		e, err := r.Next(ctx, filter)
		if errors.Is(err, io.EOF) && v.Follow {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(followEvery):
				continue
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n := r.Number()
		if v.Number != 0 && n != v.Number || !v.Takes(&e.Response) {
			continue
		}
		if limit > 0 && shown == limit {
			if v.JSON == "" {
				fmt.Fprintf(w, "  … more: --limit 0 shows all\n")
			}
			return nil
		}
		shown++
		switch {
		case v.JSON != "":
			err = show.WriteJSON(w, n, e)
		case v.Number != 0:
			show.PrintExchange(w, n, e, show.RulesOf(r.About()))
		default:
			show.PrintLine(w, n, e)
		}
		if err != nil || v.Number != 0 {
			return err
		}
	}
	if v.JSON != "-" {
		show.SayDamages(cmdline.NewScreen(s), r.Damages())
	}
	if v.Number != 0 {
		return whittle.Errorf(whittle.NotFound, "record show: %s has no exchange %d", v.Log, v.Number).
			WithHint("whittle record ls " + v.Log + " says how many it has")
	}
	if shown == 0 {
		return whittle.Errorf(whittle.FallsShort, "record show: %s has no such exchange", v.Log).
			WithHint("whittle record ls " + v.Log + " prints the routes and targets that it has")
	}
	return nil
}

// limit is how many exchanges are shown; 0: all.
func (v *recordShow) limit() int64 {
	switch {
	case v.Limit != nil:
		return *v.Limit
	case v.Follow || v.JSON != "":
		return 0
	}
	return defaultShown
}
