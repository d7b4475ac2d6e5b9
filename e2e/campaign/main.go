// Proof is the mutation campaign: candidates that are wrong in one of many ways,
// and faithful ones, each taken from shadow as far as whittle lets it come. It
// says how soon each fault was named, how far it got and how many users met it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/e2e/campaign/engine"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
	through "whittle/e2e/campaign/real"
	"whittle/e2e/campaign/sum"
	"whittle/internal/table"
)

func main() {
	what := run
	if len(os.Args) > 1 && os.Args[1] == through.ServeArg {
		what = serve
	}
	table.Main("proof", func(ctx context.Context, args []string) error { return what(ctx, args, os.Stdout, os.Stderr) })
}

// serve is a family's monolith and a candidate, for a run through the gateway.
func serve(ctx context.Context, args []string, stdout, _ io.Writer) error {
	if len(args) != 4 {
		return errors.New("serve takes a family, a mutation and a seed")
	}
	f, m, err := through.Find(args[1], args[2])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	return through.Serve(ctx, f, m, seed, stdout)
}

type flags struct {
	plan               sum.Plan
	families, mutation string
	out, doc           string
	strict             bool
	// pairs go through the gateway.
	pairs [][2]string
	real  through.Settings
}

func parse(args []string, stderr io.Writer) (*flags, error) {
	f := &flags{plan: sum.Plan{Settings: engine.Defaults()}, real: through.Defaults()}
	set := flag.NewFlagSet("proof", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.IntVar(&f.plan.Seeds, "seeds", 20, "runs of each pair, 1 to 1000")
	set.IntVar(&f.plan.Faithful, "faithful", 40, "runs of each family's faithful candidate, 0 to 10000")
	set.Uint64Var(&f.plan.First, "first", 1, "the first `seed`")
	set.IntVar(&f.plan.Measured, "measured", 2000, "requests by which a pair's touched share is measured, 100 to 100000")
	set.IntVar(&f.plan.Settings.Requests, "requests", f.plan.Settings.Requests, "requests of a run at most, 1000 to 1000000")
	set.StringVar(&f.families, "families", "", "only these `names`, with commas")
	set.StringVar(&f.mutation, "mutations", "", "only these `names`, with commas; none: only faithful candidates")
	set.StringVar(&f.out, "out", "out", "`folder` for proof.json, which has each mutation, family and pair")
	set.StringVar(&f.doc, "doc", "", "the `page` whose summary is replaced; empty: none")
	gateway := set.String("gateway", "all", "what goes through the gateway's binary: all, none, or `pairs` such as login/cookie-script,terms/")
	set.StringVar(&f.real.Whittle, "whittle", f.real.Whittle, "the `binary` of the gateway")
	set.BoolVar(&f.strict, "strict", false, "end with an error where a goal is missed")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if p := &f.plan; p.Seeds < 1 || p.Seeds > 1000 || p.Faithful < 0 || p.Faithful > 10_000 || p.Measured < 100 || p.Measured > 100_000 ||
		p.Settings.Requests < 1000 || p.Settings.Requests > 1_000_000 {
		return nil, errors.New("a flag is out of its range; -h names them")
	}
	f.pairs = pairsOf(*gateway)
	var err error
	if f.plan.Families, err = chosen(family.All(), f.families, func(x *family.Family) string { return x.Name }); err != nil {
		return nil, err
	}
	if f.mutation == "none" {
		return f, nil // faithful candidates alone
	}
	f.plan.Mutations, err = chosen(fault.All(), f.mutation, func(x *fault.Mutation) string { return x.Name })
	return f, err
}

// pairsOf reads which pairs are wanted.
func pairsOf(names string) (pairs [][2]string) {
	switch names {
	case "all":
		return through.Pairs()
	case "none", "":
		return nil
	}
	for pair := range strings.SplitSeq(names, ",") {
		f, m, _ := strings.Cut(pair, "/")
		pairs = append(pairs, [2]string{f, m})
	}
	return pairs
}

// chosen are the things of all that are named; an empty list names all.
func chosen[T any](all []T, names string, name func(T) string) ([]T, error) {
	if names == "" {
		return all, nil
	}
	var out []T
	for n := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(x T) bool { return name(x) == strings.TrimSpace(n) })
		if i < 0 {
			return nil, fmt.Errorf("nothing is called %q", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, err := parse(args, stderr)
	if err != nil {
		return err
	}
	debug.SetGCPercent(400) // many short runs that share nothing
	start := time.Now()
	f.plan.Progress = progress(stderr, start)
	mutated, faithful, err := sum.Run(ctx, f.plan)
	if err != nil {
		return err
	}
	first, harm, err := policy(f.plan.Families[0])
	if err != nil {
		return err
	}
	figures := sum.Sum(mutated, faithful, first, harm)
	if len(f.pairs) > 0 {
		figures.Gateway, err = through.RunPairs(ctx, f.pairs, f.real, 3, func(r sum.Real) {
			fmt.Fprintf(stderr, "through the gateway: %s, %s: %s, %s\n", r.Family, r.Mutation, r.End, r.Finding)
		})
		if err != nil {
			return err
		}
	}
	if err := figures.Summary(stdout); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%v\n", time.Since(start).Round(time.Second))
	if err := write(f, &figures); err != nil {
		return err
	}
	if f.strict && slices.ContainsFunc(figures.Goals, func(g sum.Goal) bool { return !g.Met }) {
		return errors.New("a goal is missed")
	}
	return nil
}

// policy is the first step and the harm budget of the shipped defaults.
func policy(f *family.Family) (whittle.Share, float64, error) {
	r, err := engine.Route(f, "")
	if err != nil {
		return 0, 0, err
	}
	return r.Rollout.Steps[0], r.Rollout.Harm, nil
}

func progress(w io.Writer, start time.Time) func(done, all int) {
	last := start
	return func(done, all int) {
		if time.Since(last) > 15*time.Second {
			last = time.Now()
			fmt.Fprintf(w, "%d of %d runs, %v\n", done, all, time.Since(start).Round(time.Second))
		}
	}
}

// The summary in a page stands between these lines.
const (
	summaryBegin = "<!-- made by make proof -->\n"
	summaryEnd   = "<!-- end -->\n"
)

func write(f *flags, figures *sum.Figures) error {
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.out, "proof.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	if f.doc == "" {
		return nil
	}
	var summary bytes.Buffer
	if err := figures.Summary(&summary); err != nil {
		return err
	}
	return table.Replace(f.doc, summaryBegin, summaryEnd, "\n"+summary.String())
}
