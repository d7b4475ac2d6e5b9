package corpustest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// How the plans of a folder are run by their own tool: a command is given by -record
// TOOL=COMMAND, and the case's flags and the plan follow it.
//
// To record: install the tool in the version that its folder's README names, away from
// this repository, and
//
//	go test ./load/corpustest -record artillery='/path/to/artillery run'
//	go test ./load/corpustest -record jmeter='java -jar /path/to/bin/ApacheJMeter.jar -n -t'
//
// which runs the cases that have no recording; -again records the others anew.
const recordTimeout = 3 * time.Minute

// recordCase runs the tool on a case's plan and writes down what it sent.
func recordCase(ctx context.Context, c *testCase, command string) error {
	folder, err := os.MkdirTemp("", "loadcorpus")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	s := newServer(c.Tool)
	defer s.Close()
	if err := c.unpack(folder, s.URL); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	var args []string
	for _, f := range c.about.flags {
		args = append(args, strings.ReplaceAll(f, "TARGET", s.URL))
	}
	parts := strings.Fields(command)
	cmd := exec.CommandContext(ctx, parts[0], append(append(parts[1:], args...), c.plan())...) //nolint:gosec // it is what the caller asks for
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), c.about.env...)
	said, err := cmd.CombinedOutput()
	sent := s.requests()
	if err != nil && len(sent) == 0 {
		// What the tool itself does not run has no requests; its words are for whoever records.
		fmt.Printf("%s/%s: %v\n%s\n", c.Tool, c.Name, err, tail(said))
	}
	if os.Getenv("LOADCORPUS_KEEP") != "" {
		if err := os.WriteFile(filepath.Join(os.Getenv("LOADCORPUS_KEEP"), c.Name+".log"), said, 0o600); err != nil {
			return err
		}
	}
	return c.write(sent)
}

func tail(b []byte) []byte { return b[max(0, len(b)-600):] }
