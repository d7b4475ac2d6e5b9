package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/plan"
)

// The endpoint of the two acts whose candidates a test of the service alone does
// not catch: accounts' transactions as CSV, compared byte by byte.
const (
	exportRoute = "GET /export.csv"
	exportRate  = 300
	exportUsers = 2000
	mostExport  = 60 * time.Second
	// mostWrong bounds the users' responses that a candidate may spoil which is
	// wrong whenever it is asked first.
	mostWrong = 30
)

// exportPlan has users who each ask for their own account; %s is the list of them.
const exportPlan = `config: {target: "http://localhost:3000", variables: {account: [%s]}}
scenarios:
  - flow:
      - get:
          url: "/export.csv?account={{ account }}&month={{ $randomNumber(1, 12) }}"
          headers: {X-User: "{{ account }}"}
`

// exportConfig has the monolith and the candidate in one process, and leaves to
// the defaults all but the time that a step lasts at least.
const exportConfig = `listen: 127.0.0.1:0
admin: 127.0.0.1:0
monolith: http://%[1]s/monolith
state: %[2]s.db
log: {level: warn}
routes:
  - match: GET /export.csv
    candidate: {url: "http://%[1]s/candidate"}
    compare: exact
    rollout: {hold: 1s, sticky_by: header:X-User}
`

// export is the endpoint's two sides and the gateway before them.
type export struct {
	watched
	sides, gateway *process
}

// startExport starts the endpoint with a candidate that has a mutation of the
// campaign in bench/proof, and a gateway that shadows it.
func (d *countDemo) startExport(ctx context.Context, mutation string) (*export, error) {
	e := &export{watched: watched{route: exportRoute}}
	name := "export-" + mutation
	var err error
	if e.sides, err = d.startBuilt(ctx, name, "proof", []string{"serve", "export", mutation, "1"}, nil); err != nil {
		return nil, err
	}
	config := filepath.Join(d.work, name)
	if err := os.WriteFile(config+".yaml", fmt.Appendf(nil, exportConfig, e.sides.Public, config), 0o600); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "write config: %w", err)
	}
	e.gateway, e.admin, err = d.startGateway(ctx, "gateway-"+mutation, config+".yaml")
	return e, err
}

// stop ends both processes, the gateway first.
func (e *export) stop() {
	e.gateway.Stop()
	e.sides.Stop()
}

func exportUsersPlan() []byte {
	accounts := make([]string, exportUsers)
	for i := range accounts {
		accounts[i] = strconv.Itoa(i)
	}
	return fmt.Appendf(nil, exportPlan, strings.Join(accounts, ", "))
}

// sendExport sends users to the endpoint. The sides decide by the request's number
// whether the candidate is asked before the monolith.
func (d *countDemo) sendExport(ctx context.Context, e *export) (*traffic, error) {
	p, err := load.Parse("export.yml", exportUsersPlan(), plan.Source{})
	if err != nil {
		return nil, err
	}
	o := d.loadOptions(e.gateway, nil)
	o.Headers = func(pairs []string, i int64) []string {
		return append(pairs, "X-Proof-Request", strconv.FormatInt(i, 10))
	}
	return sendPlan(ctx, p, exportRate, mostExport, o), nil
}

// wrong asks the sides how many responses users got from the candidate, and how
// many of these were wrong.
func (e *export) wrong(ctx context.Context) (served, wrong int, err error) {
	text, err := fetch(ctx, "http://"+e.sides.Public+"/counts")
	if err != nil {
		return 0, 0, err
	}
	var c struct{ Served, Wrong int }
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return 0, 0, whittle.Errorf(whittle.Internal, "read counts: %w", err)
	}
	return c.Served, c.Wrong, nil
}

// actSwapped ends when the candidate is refused for what is wrong with it: no
// user meets it, whatever is ordered.
func (d *countDemo) actSwapped(ctx context.Context) error {
	return d.flawed(ctx, "swapped", &swapped, func(e *export, b *flawedBlock, _ *whittle.RouteStatus) error {
		var err error
		if b.Refused, err = promotionRefused(ctx, e.admin, exportRoute); err != nil {
			return err
		}
		d.screen.Say("promote refused: %s", b.Refused)
		if b.MaxShare > 0 || b.Served > 0 {
			return fmt.Errorf("it had up to %g %% of the users and served %d requests", b.MaxShare, b.Served)
		}
		return nil
	})
}

// actAskedFirst ends when the candidate has lost its first users for what is
// wrong with it. Mirrored requests cannot show that.
func (d *countDemo) actAskedFirst(ctx context.Context) error {
	return d.flawed(ctx, "first-100", &askedFirst, func(_ *export, b *flawedBlock, r *whittle.RouteStatus) error {
		last := r.Timeline[len(r.Timeline)-1]
		b.RolledBack = last.Reason
		d.screen.Say("rolled back at %g %%: %s", last.From.Percent(), last.Reason)
		d.screen.Say("wrong responses that users got: %d of %d that the candidate gave them", b.Wrong, b.Served)
		first, _ := firstStep(r)
		switch {
		case r.Phase != whittle.PhaseRolledBack || last.From == 0:
			return errors.New("it was not rolled back from a share of the users")
		case b.MaxShare > first.Percent():
			return fmt.Errorf("it had %g %% of the users, more than the first step", b.MaxShare)
		case b.Wrong > mostWrong:
			return fmt.Errorf("users got %d wrong responses", b.Wrong)
		}
		return nil
	})
}

// firstStep is the first share that the candidate had.
func firstStep(r *whittle.RouteStatus) (whittle.Share, bool) {
	for _, t := range r.Timeline {
		if t.To > 0 {
			return t.To, true
		}
	}
	return 0, false
}

// flawed takes a candidate as far as whittle lets it come, until the flaw is named
// by its own finding and no user is on it, and then holds it to what must be so.
func (d *countDemo) flawed(ctx context.Context, mutation string, w *flaw, hold func(*export, *flawedBlock, *whittle.RouteStatus) error) error {
	e, err := d.startExport(ctx, mutation)
	if err != nil {
		return err
	}
	defer e.stop()
	t, err := d.sendExport(ctx, e)
	if err != nil {
		return err
	}
	defer t.end()
	b := &flawedBlock{Flaw: w.name}
	e.note = d.follow(b)
	r, err := e.await(ctx, mostExport, "the flaw to be named: "+w.name, func(r *whittle.RouteStatus) bool {
		over := r.Phase == whittle.PhaseRolledBack || r.Verdict.State == whittle.Different && r.Share == 0
		return over && w.finding(&r.Verdict) != nil
	})
	if r != nil {
		b.Verdict, b.Compared = r.Verdict.State, r.Verdict.Compared
		d.sayFindings(&r.Verdict)
	}
	if err != nil {
		return err
	}
	b.Finding = *w.finding(&r.Verdict)
	if b.Served, b.Wrong, err = e.wrong(ctx); err != nil {
		return err
	}
	err = hold(e, b, r)
	d.figures.Flawed = append(d.figures.Flawed, *b)
	if err != nil {
		return err
	}
	return d.figures.Rollout.account(loads{t})
}

// follow keeps the greatest share, and says when it changes and when the verdict
// on mirrored requests does.
func (d *countDemo) follow(b *flawedBlock) func(*whittle.RouteStatus) {
	equivalent := false
	return func(r *whittle.RouteStatus) {
		if r.Verdict.State == whittle.Equivalent && !equivalent {
			equivalent = true
			d.screen.Say("%s", r.Verdict.Summary)
		}
		if r.Percent > b.MaxShare {
			b.MaxShare = r.Percent
			d.screen.Say("%g %% of the users; %s", r.Percent, r.Harm.Summary)
		}
	}
}
