// Command mutants judges reports of the mutation tester gremlins: of each package
// at least so many mutants have to be killed, and each that lives has to be argued
// for in a list, by the source line that it changes. An argument for a mutant that
// is killed now is an error too.
//
//	mutants -least 95 -argued bench/mutants/argued.txt report.json …
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// report is what gremlins writes of one package.
type report struct {
	Package string `json:"-"` // the folder, from the file's name
	Files   []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
			Line   int    `json:"line"`
		} `json:"mutations"`
	} `json:"files"`
}

// survivor is a mutant that no test found, by what it changes.
type survivor struct{ file, kind, line string }

// String is the survivor as the list has it.
func (s survivor) String() string { return s.file + " " + s.kind + " " + s.line }

func main() {
	least := flag.Float64("least", 95, "percent of the mutants that have to be killed")
	argued := flag.String("argued", "bench/mutants/argued.txt", "the list of survivors that are argued for")
	flag.Parse()
	if err := run(os.Stdout, *least, *argued, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

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
	wrong, used := 0, map[survivor]bool{}
	for _, name := range reports {
		r, err := load(name)
		if err != nil {
			return err
		}
		killed, untried, lived := r.judge(source)
		all := killed + len(lived)
		share := 100 * float64(killed) / float64(max(all, 1))
		fmt.Fprintf(w, "%-28s %3d of %3d mutants killed, %.1f %%; %d live, %d not tried\n", r.Package, killed, all, share, len(lived), untried)
		if all == 0 || share < least {
			wrong++
			fmt.Fprintf(w, "  fewer than %g %%\n", least)
		}
		for _, s := range lived {
			if used[s] = true; arguments[s] == "" {
				wrong++
				fmt.Fprintf(w, "  lives, and is not argued for: %s\n", s)
			}
		}
		for s := range arguments {
			if filepath.Dir(s.file) == r.Package && !used[s] {
				wrong++
				fmt.Fprintf(w, "  argued for, and does not live: %s\n", s)
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d complaints: kill the mutant with a test, or argue for it in %s", wrong, argued)
	}
	return nil
}

// read reads the list: "file KIND | source line | why".
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
			return nil, fmt.Errorf("line %d is not: file KIND | source line | why", n)
		}
		list[survivor{where[0], where[1], parts[1]}] = parts[2]
	}
	return list, lines.Err()
}

// load reads a report; its file is named after the package, with - for /.
func load(name string) (*report, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &report{Package: strings.ReplaceAll(strings.TrimSuffix(filepath.Base(name), ".json"), "-", "/")}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return r, nil
}

// judge counts what was killed, and names what lived. A mutant that ran out of time
// was found: the tests did not end as they do. One in the condition of a case was not
// tried: Go's coverage has no block for it, so gremlins takes it for one that no test
// reaches.
func (r *report) judge(source func(file string, line int) string) (killed, untried int, lived []survivor) {
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			file := filepath.Join(r.Package, filepath.Base(f.Name))
			switch m.Status {
			case "KILLED", "TIMED OUT":
				killed++
			case "LIVED", "NOT COVERED":
				s := survivor{file, m.Type, source(file, m.Line)}
				if m.Status == "NOT COVERED" && strings.HasPrefix(s.line, "case ") {
					untried++
					continue
				}
				lived = append(lived, s)
			}
		}
	}
	return killed, untried, lived
}

// source is a line of a file without its indentation.
func source(file string, line int) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(b), "\n")
	if line < 1 || line > len(lines) {
		return fmt.Sprintf("line %d", line)
	}
	return strings.TrimSpace(lines[line-1])
}
