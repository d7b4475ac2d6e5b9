package main

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer"
	"whittle/record/capture"
	"whittle/record/replay"
)

// contractBlock holds the contract inferred from live traffic next to the seed's.
type contractBlock struct {
	Exchanges int `json:"exchanges"`
	// Inferred and Seed are the messages in proto's words, without comments.
	Inferred []string         `json:"inferred"`
	Seed     []string         `json:"seed"`
	Guesses  []contract.Guess `json:"guesses"`
}

// actRead records what the gateway passes through and reads the contract off
// it, before anybody has written one.
func (d *countDemo) actRead(ctx context.Context) error {
	counts := []int{60_000_000} // a sum that passes 32 bits, as some did in the application's life
	for i := range 39 {
		counts = append(counts, i*i*70)
	}
	for _, n := range counts {
		if err := d.ask(ctx, n); err != nil {
			return err
		}
	}
	c, err := d.inferred(ctx, len(counts))
	if err != nil {
		return err
	}
	d.recorded = true
	if err := d.configure(nil); err != nil { // and no more is recorded
		return err
	}
	if len(c.Methods) != 1 {
		return fmt.Errorf("%d endpoints were inferred of one", len(c.Methods))
	}
	m := &c.Methods[0]
	seed, err := os.ReadFile(d.root.path("systems/count/count.proto"))
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "read the seed's contract: %w", err)
	}
	d.figures.Contract = contractBlock{
		Exchanges: m.Seen, Inferred: declared(string(c.Proto())), Seed: declared(string(seed)), Guesses: m.Guesses,
	}
	d.sayContract()
	return wideEnough(c, m)
}

// wideEnough holds the inferred response to what was recorded: a 64-bit sum in a
// text.
func wideEnough(c *contract.Contract, m *contract.Method) error {
	if m.HTTP.Response.Form != contract.Text {
		return fmt.Errorf("the response is read as %s, not as a text with a number in it", m.HTTP.Response.Form)
	}
	for _, msg := range c.Messages {
		if msg.Name != m.Output {
			continue
		}
		if len(msg.Fields) == 1 && (msg.Fields[0].Type == contract.Int64 || msg.Fields[0].Type == contract.Uint64) {
			return nil
		}
		return fmt.Errorf("the response is %+v, not one integer of 64 bits", msg.Fields)
	}
	return fmt.Errorf("the contract has no message %s", m.Output)
}

// ask counts through the gateway, as a user does.
func (d *countDemo) ask(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	status, _, err := ask(ctx, http.MethodPost, d.target()+"/Count", "application/json", strings.NewReader(`{"times":`+strconv.Itoa(n)+`}`))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the response is %d", status)
	}
	return err
}

// inferred waits until n exchanges are on disk, and infers.
func (d *countDemo) inferred(ctx context.Context, n int) (*contract.Contract, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var c *contract.Contract
	var err error
	if poll(ctx, 100*time.Millisecond, func() bool {
		var log replay.Log
		if log, err = replay.OpenLog(d.recordedPath()); err == nil {
			c, _, err = infer.Learn(func() iter.Seq2[*capture.Entry, error] { return log.Entries(ctx) },
				infer.Options{Package: "count.v1", Service: "CountService"})
		}
		return err == nil && len(c.Methods) > 0 && c.Methods[0].Seen >= n
	}) {
		return c, nil
	}
	return nil, whittle.Errorf(whittle.FallsShort, "waited 10s for %d exchanges to be recorded: %w", n, err)
}

func (d *countDemo) recordedPath() string { return filepath.Join(d.work, "recorded") }

// declared gives a .proto file's services and messages without its comments.
func declared(proto string) []string {
	var lines []string
	for line := range strings.Lines(proto) {
		line = strings.TrimRight(line, "\n")
		word := strings.TrimSpace(line)
		switch {
		case word == "", strings.HasPrefix(word, "//"), strings.HasPrefix(word, "syntax "), strings.HasPrefix(word, "option "), strings.HasPrefix(word, "package "):
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

func (d *countDemo) sayContract() {
	b := &d.figures.Contract
	d.screen.Say("%-60s %s", fmt.Sprintf("read off %d live exchanges", b.Exchanges), "the contract of this repository")
	for i := range max(len(b.Inferred), len(b.Seed)) {
		left, right := "", ""
		if i < len(b.Inferred) {
			left = b.Inferred[i]
		}
		if i < len(b.Seed) {
			right = b.Seed[i]
		}
		d.screen.Say("  %-58s   %s", left, right)
	}
	for _, g := range b.Guesses {
		chosen := g.Chosen
		if g.Against != "" {
			chosen += ", not " + g.Against
		}
		d.screen.Say("  %s: %s: %s", g.Path, chosen, g.Evidence)
	}
	d.screen.Say("The published contract had the sum in 32 bits, which the first large count would have shown to be too few.")
}
