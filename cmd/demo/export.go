package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
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
	sides   *sides
	gateway *process
}

// startExport starts the endpoint with a candidate that has a flaw, and a gateway that shadows it.
func (d *countDemo) startExport(ctx context.Context, fault string) (*export, error) {
	e := &export{watched: watched{route: exportRoute}}
	name := "export-" + fault
	var err error
	if e.sides, err = startSides(ctx, fault); err != nil {
		return nil, err
	}
	config := filepath.Join(d.work, name)
	if err := os.WriteFile(config+".yaml", fmt.Appendf(nil, exportConfig, e.sides.Public, config), 0o600); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "write config: %w", err)
	}
	e.gateway, e.admin, err = d.startGateway(ctx, "gateway-"+fault, config+".yaml")
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
	o := d.loadOptions("http://"+e.gateway.Public, nil)
	o.Headers = func(pairs []string, i int64) []string {
		return append(pairs, requestHeader, strconv.FormatInt(i, 10))
	}
	return sendPlan(ctx, p, exportRate, mostExport, o), nil
}

// actSwapped ends when the candidate is refused for what is wrong with it: no
// user meets it, whatever is ordered.
func (d *countDemo) actSwapped(ctx context.Context) error {
	return d.flawed(ctx, flawSwapped, &swapped, func(e *export, b *flawedBlock, _ *whittle.RouteStatus) error {
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
	return d.flawed(ctx, flawFirst, &askedFirst, func(_ *export, b *flawedBlock, r *whittle.RouteStatus) error {
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
func (d *countDemo) flawed(ctx context.Context, fault string, w *flaw, hold func(*export, *flawedBlock, *whittle.RouteStatus) error) error {
	e, err := d.startExport(ctx, fault)
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
	b.Served, b.Wrong = e.sides.counts()
	err = hold(e, b, r)
	d.figures.Flawed = append(d.figures.Flawed, *b)
	if err != nil {
		return err
	}
	return d.figures.Rollout.account(t)
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

// The flaws of the export's candidates: in one of so many responses another request's, or
// wrong whenever the candidate is asked before the monolith.
const (
	swappedOneIn  = 200
	flawSwapped   = "swapped"
	flawFirst     = "asked-first"
	requestHeader = "X-Demo-Request"
	sidesLatency  = 5 * time.Millisecond
)

// sides are the export's monolith and candidate, in one place, since what a candidate does
// when it is asked first can only be shown by one that knows.
type sides struct {
	Public string
	flaw   string
	server http.Server
	ended  chan struct{}

	mu     sync.Mutex // guards the following
	seen   map[string]bool
	last   string // what the monolith said last
	served int    // responses to users
	wrong  int
}

func startSides(ctx context.Context, flaw string) (*sides, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "serve the export: %w", err)
	}
	s := &sides{Public: l.Addr().String(), flaw: flaw, ended: make(chan struct{}), seen: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/monolith/export.csv", s.monolith)
	mux.HandleFunc("/candidate/export.csv", s.candidate)
	s.server = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(l) // it ends by Stop
	}()
	return s, nil
}

// Stop ends the server.
func (s *sides) Stop() {
	_ = s.server.Close() // nobody is waited for
	<-s.ended
}

// counts are the candidate's responses to users, and the wrong ones of them.
func (s *sides) counts() (served, wrong int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served, s.wrong
}

func (s *sides) monolith(w http.ResponseWriter, r *http.Request) {
	text := accountCSV(r)
	s.mu.Lock()
	s.seen[r.Header.Get(requestHeader)] = true
	s.last = text
	s.mu.Unlock()
	respondCSV(w, r, text)
}

func (s *sides) candidate(w http.ResponseWriter, r *http.Request) {
	right := accountCSV(r)
	text := right
	s.mu.Lock()
	first := !s.seen[r.Header.Get(requestHeader)]
	switch {
	case s.flaw == flawSwapped && rand.IntN(swappedOneIn) == 0:
		text = s.last
	case s.flaw == flawFirst && first:
		text += "0,,,0.00\n"
	}
	if first {
		s.served++
		if text != right {
			s.wrong++
		}
	}
	s.mu.Unlock()
	respondCSV(w, r, text)
}

func respondCSV(w http.ResponseWriter, r *http.Request, text string) {
	notify.Sleep(r.Context(), sidesLatency)
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	_, _ = io.WriteString(w, text) // whoever asked may have gone
}

// accountCSV lists an account's transactions of a month, which follow from the two.
func accountCSV(r *http.Request) string {
	q := r.URL.Query()
	h := fnv.New64a()
	_, _ = io.WriteString(h, q.Get("account")+"/"+q.Get("month")) // a hash takes everything
	draw := rand.New(rand.NewPCG(h.Sum64(), 1))
	var b csvText
	c := csv.NewWriter(&b)
	_ = c.Write([]string{"id", "day", "name", "amount"}) // as above
	for range 3 + draw.IntN(6) {
		_ = c.Write([]string{
			strconv.Itoa(draw.IntN(1e9)), strconv.Itoa(1 + draw.IntN(28)),
			[]string{`Smith & "Sons"`, "Müller, Anna", "O'Brien"}[draw.IntN(3)], strconv.FormatFloat(float64(draw.IntN(1e6))/100, 'f', 2, 64),
		})
	}
	c.Flush()
	return string(b)
}

// csvText is a writer that keeps what is written.
type csvText []byte

func (b *csvText) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
