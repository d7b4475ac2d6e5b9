// Package gate asks the gates before a rise: webhooks that have to respond 200 before the
// share rises by itself. Their responses go to control, where only the rise waits for them.
package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"whittle"
	"whittle/carve/webhook"
	"whittle/internal/notify"
)

const (
	// lookEvery is how often it is asked which gates are due.
	lookEvery = 100 * time.Millisecond
	// atOnce bounds the calls that are under way: of gates that may take users off the
	// candidate, and of all others.
	atOnce = 16
)

// Controller knows which gates are due, and takes what they say. Neither method may
// block for long.
type Controller interface {
	Gates() []whittle.GateAsk
	Gated(ask *whittle.GateAsk, open bool, said string)
}

// Keeper asks the gates that are due.
type Keeper struct {
	Controller Controller
	// Redact takes what is secret out of a gate's response. Nil: it is shown as it is.
	Redact func(string) string
	Log    *slog.Logger
}

// place identifies a question: one that is asked already is not asked twice.
type place struct {
	route, gate string
	before      whittle.GateMoment
	id          uint64
}

// Run asks until ctx ends, and waits for the calls that are under way then.
func (k *Keeper) Run(ctx context.Context) error {
	r := run{Keeper: k, rises: newLine(), recalls: newLine(), under: map[place]*asking{}}
	defer r.rises.client.Close()
	defer r.recalls.client.Close()
	defer r.calls.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.look(ctx)
		}
	}
}

type run struct {
	*Keeper
	// recalls are the calls of gates that may take users off the candidate, which wait for
	// no other's.
	rises, recalls line
	calls          sync.WaitGroup
	under          map[place]*asking // of Run's goroutine alone
}

// line are calls that wait for each other.
type line struct {
	client *webhook.Client
	slots  chan struct{}
}

func newLine() line { return line{webhook.New(), make(chan struct{}, atOnce)} }

// asking is a question that is being asked until it is answered, or not due any more.
type asking struct {
	cancel context.CancelFunc

	mu  sync.Mutex // guards the following
	ask whittle.GateAsk
}

func (a *asking) put(ask *whittle.GateAsk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ask = *ask
}

func (a *asking) now() whittle.GateAsk {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ask
}

// look begins to ask what is due, and ends what is not due any more.
func (r *run) look(ctx context.Context) {
	due := map[place]bool{}
	for _, ask := range r.Controller.Gates() {
		if ask.Gate.Hook == nil || ask.Open {
			continue
		}
		p := place{ask.Route, ask.Gate.Name, ask.Before, ask.ID}
		due[p] = true
		if a := r.under[p]; a != nil {
			a.put(&ask)
			continue
		}
		own, cancel := context.WithCancel(ctx)
		a := &asking{cancel: cancel, ask: ask}
		r.under[p] = a
		r.calls.Go(func() { r.ask(own, a) })
	}
	for p, a := range r.under {
		if !due[p] {
			a.cancel()
			delete(r.under, p)
		}
	}
}

// ask asks one gate until it opens or ctx ends.
func (r *run) ask(ctx context.Context, a *asking) {
	defer a.cancel()
	delivery := webhook.Delivery()
	l := &r.rises
	if a.now().Before == whittle.GateRollback {
		l = &r.recalls
	}
	for tries := 1; ; tries++ {
		ask := a.now()
		select {
		case <-ctx.Done():
			return
		case l.slots <- struct{}{}:
		}
		reply, err := l.call(ctx, &ask, delivery, tries)
		<-l.slots
		if ctx.Err() != nil {
			return // it is not due any more, so nobody wants to know
		}
		open := err == nil && reply.Status == http.StatusOK
		said := r.said(reply, err)
		r.Controller.Gated(&ask, open, said)
		if open && ask.Before != whittle.GateRollback {
			r.Log.Info("a gate has opened", "route", ask.Route, "gate", ask.Gate.Name, "said", said)
			return
		}
		if ask.Before == whittle.GateRollback {
			notify.Sleep(ctx, ask.Gate.Every)
		} else {
			webhook.Pause(ctx, tries, ask.Gate.Every, reply)
		}
	}
}

func (l *line) call(ctx context.Context, ask *whittle.GateAsk, delivery string, tries int) (webhook.Reply, error) {
	body, err := json.Marshal(questionOf(ask, tries))
	if err != nil {
		return webhook.Reply{}, err
	}
	return l.client.Post(ctx, ask.Gate.Hook, delivery, body)
}

// said is a gate's response as a clause.
func (r *run) said(reply webhook.Reply, err error) string {
	if err != nil {
		return "last call failed: " + err.Error()
	}
	text := "last response " + strconv.Itoa(reply.Status)
	if reply.Text != "" {
		words := reply.Text
		if r.Redact != nil {
			words = r.Redact(words)
		}
		text += fmt.Sprintf(" %q", words)
	}
	return text
}

// Question is the body of a gate's webhook. Within version 1 fields are added and never
// renamed or removed; docs/rollout.md has its schema.
type Question struct {
	Version int                `json:"version"`
	Event   string             `json:"event"` // "gate"
	Gate    string             `json:"gate"`
	Before  whittle.GateMoment `json:"before"`
	Route   string             `json:"route"`
	At      time.Time          `json:"at"`
	// Attempt counts the calls about this step, from 1.
	Attempt    int           `json:"attempt"`
	From       whittle.Share `json:"from_bp"`
	To         whittle.Share `json:"to_bp"`
	Phase      whittle.Phase `json:"phase"`
	Since      time.Time     `json:"since"`
	Generation uint64        `json:"generation"`
	Evidence   struct {
		Verdict  whittle.State `json:"verdict"`
		Compared int           `json:"compared"`
		Summary  string        `json:"summary"`
	} `json:"evidence"`
	Harm string `json:"harm"`
}

func questionOf(a *whittle.GateAsk, tries int) Question {
	q := Question{
		Version: 1, Event: "gate", Gate: a.Gate.Name, Before: a.Before, Route: a.Route, At: time.Now().UTC(), Attempt: tries,
		From: a.From, To: a.To, Phase: a.Phase, Since: a.Since.UTC(), Generation: a.Generation, Harm: a.Harm,
	}
	q.Evidence.Verdict, q.Evidence.Compared, q.Evidence.Summary = a.Verdict, a.Compared, a.Summary
	return q
}
