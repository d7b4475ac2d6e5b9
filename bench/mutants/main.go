// Command mutants tries the mutants that the mutation tester gremlins lists, and
// judges what became of them: of each package at least so many have to be killed, and
// each that lives has to be argued for in a list, as it would stand in the source. An
// argument for a mutant that is killed is an error too.
//
//	gremlins unleash ./carve/state --dry-run --output carve-state.json
//	mutants -least 95 -argued bench/mutants/argued.txt carve-state.json …
//
// What became of a mutant is written into the report, so that a run that was
// interrupted goes on where it was; -again tries the survivors once more. How mutants
// are tried is in docs/mutants.md.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	least := flag.Float64("least", 95, "percent of the mutants that have to be killed")
	argued := flag.String("argued", "bench/mutants/argued.txt", "the list of survivors that are argued for")
	workers := flag.Int("workers", 2, "mutants tried at a time")
	again := flag.Bool("again", false, "try those that lived once more")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := attempt(ctx, os.Stderr, *workers, *again, flag.Args())
	if err == nil {
		err = run(os.Stdout, *least, *argued, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// attempt tries what the reports list, report by report.
func attempt(ctx context.Context, w io.Writer, workers int, again bool, reports []string) error {
	for _, name := range reports {
		r, err := load(name)
		if err != nil {
			return err
		}
		if err := r.try(ctx, w, workers, again); err != nil {
			return fmt.Errorf("try the mutants of %s: %w", r.Package, err)
		}
	}
	return nil
}

// run judges reports, and writes what it says as a table.
func run(w io.Writer, least float64, argued string, reports []string) error {
	list, err := os.Open(argued)
	if err != nil {
		return err
	}
	defer list.Close()
	arguments, err := read(list)
	if err != nil {
		return err
	}
	var complaints []string
	fmt.Fprintf(w, "| room | mutants | killed | | argued for |\n|---|---|---|---|---|\n")
	for _, name := range reports {
		r, err := load(name)
		if err != nil {
			return err
		}
		killed, lived := r.judge()
		all := killed + len(lived)
		share := 100 * float64(killed) / float64(max(all, 1))
		if all == 0 || share < least {
			complaints = append(complaints, fmt.Sprintf("%s: fewer than %g %% are killed", r.Package, least))
		}
		used := map[survivor]bool{}
		for _, s := range lived {
			if used[s] = true; arguments[s] == "" {
				complaints = append(complaints, "lives, and is not argued for: "+s.String())
			}
		}
		for s := range arguments {
			if filepath.Dir(s.file) == r.Package && !used[s] {
				complaints = append(complaints, "argued for, and does not live: "+s.String())
			}
		}
		fmt.Fprintf(w, "| %s | %d | %d | %.1f %% | %d |\n", r.Package, all, killed, share, len(lived))
	}
	for _, c := range complaints {
		fmt.Fprintln(w, c)
	}
	if len(complaints) > 0 {
		return fmt.Errorf("%d complaints: kill the mutant with a test, or argue for it in %s", len(complaints), argued)
	}
	return nil
}

// read reads the list: "file function | the line with the mutant | why".
func read(r io.Reader) (map[survivor]string, error) {
	list := map[survivor]string{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		parts := strings.SplitN(text, " | ", 3)
		where := strings.Fields(parts[0])
		if len(parts) != 3 || len(where) != 2 || parts[2] == "" {
			return nil, fmt.Errorf("line %d is not: file function | the line with the mutant | why", n)
		}
		list[survivor{where[0], where[1], parts[1]}] = parts[2]
	}
	return list, lines.Err()
}
