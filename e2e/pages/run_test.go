package pages

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// shell runs the commands of one page.
type shell struct {
	t       *testing.T
	page    string
	dir     string
	in      io.Writer
	out     *bufio.Scanner
	ran     int
	servers []server
	busy    bool // a command measured nothing, so others of its block may lack what it writes
}

// server is a command that runs until it is stopped.
type server struct {
	command
	until    lifetime
	pid, log string
}

// lifetime says when a server is stopped.
type lifetime int

const (
	untilBlockEnds   lifetime = iota // after an ampersand
	untilSectionEnds                 // or until the page says Ctrl-C
	untilPageEnds                    // the monolith and the candidate, and what there was before
)

func endOf(text string) lifetime {
	switch {
	case strings.HasPrefix(text, "node ") || strings.HasPrefix(text, "make run"):
		return untilPageEnds
	case strings.HasSuffix(text, "&"):
		return untilBlockEnds
	}
	return untilSectionEnds
}

var (
	// serves are the commands that run until they are stopped.
	serves = regexp.MustCompile(`&$|^(node |PORT=|whittle (run|record --|load .*--duration 10m)|bin/ingest( +#| serve)|make run)`)
	// measures are the commands that may say on a busy machine that they measured nothing,
	// and doubts those whose result may be bad there.
	measures = regexp.MustCompile(`^whittle (load|compare|profile) `)
	doubts   = regexp.MustCompile(`^whittle (find|profile) |--fail-if`)
)

// newShell begins a shell in a folder with what pages take to be there.
func newShell(t *testing.T, page string) *shell {
	t.Helper()
	s := &shell{t: t, page: page, dir: t.TempDir()}
	repository, err := filepath.Abs(process.Repository)
	built := os.Getenv(builtVariable)
	err = errors.Join(err, os.CopyFS(s.dir, os.DirFS("testdata")),
		os.Symlink(built, filepath.Join(s.dir, "bin")), os.Symlink(filepath.Join(repository, "systems"), filepath.Join(s.dir, "systems")))
	fatal.If(t, err)
	cmd := exec.CommandContext(t.Context(), "bash", "--norc")
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+built+":"+s.dir+"/path:"+os.Getenv("PATH"), "NODE_PATH="+repository+"/systems/count/monolith/node_modules")
	in, err := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	fatal.If(t, errors.Join(err, outErr, cmd.Start()))
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // the test has its result
	})
	s.in, s.out = in, bufio.NewScanner(out)
	s.tell("set -m") // each server is a process group, which an interrupt reaches whole
	return s
}

// tell gives the shell a line, and returns its exit status and the last background process's id.
func (s *shell) tell(line string) (status, pid string) {
	s.t.Helper()
	_, err := io.WriteString(s.in, line+"\necho $? $!\n")
	fatal.If(s.t, err)
	if !s.out.Scan() {
		s.t.Fatalf("%s: the shell ended at %s: %v", s.page, line, s.out.Err())
	}
	status, pid, _ = strings.Cut(s.out.Text(), " ")
	return status, pid
}

// run runs a command to its end, or a server until it listens.
func (s *shell) run(c command, until lifetime) {
	s.t.Helper()
	s.ran++
	log := filepath.Join(s.dir, fmt.Sprintf(".printed-%d", s.ran))
	group := "{ " + strings.TrimSuffix(c.text, "&") + "\n} >" + log + " 2>&1 </dev/null"
	if !serves.MatchString(c.text) {
		status, _ := s.tell(group)
		s.judge(c, log, status)
		return
	}
	before := listening(s.t)
	_, pid := s.tell(group + " &")
	s.servers = append(s.servers, server{c, until, pid, log})
	if strings.HasPrefix(c.text, "whittle load ") {
		return
	}
	poll := time.NewTicker(50 * time.Millisecond) // the kernel takes milliseconds to list ports
	defer poll.Stop()
	process.Await(s.t, c.text+" to listen", func() (bool, string) {
		<-poll.C
		printed, _ := os.ReadFile(log) // for the message alone
		return listening(s.t) > before, string(printed)
	})
}

// listening counts the ports of this network that listen.
func listening(t *testing.T) (n int) {
	t.Helper()
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		n += strings.Count(fatal.Read(t, name), " 0A ") // TCP_LISTEN
	}
	return n
}

// stop interrupts servers as Ctrl-C does, and judges what they printed.
func (s *shell) stop(until lifetime) {
	s.t.Helper()
	s.servers = slices.DeleteFunc(s.servers, func(one server) bool {
		if one.until > until {
			return false
		}
		s.tell("kill -INT -- -" + one.pid + " 2>/dev/null; wait " + one.pid)
		s.judge(one.command, one.log, "0")
		return true
	})
}

// endBlock ends a block. The next one is another terminal, which begins in the first folder.
func (s *shell) endBlock() {
	s.stop(untilBlockEnds)
	s.busy = false
	s.tell("cd " + s.dir)
}

// judge compares a command's exit status, and what it printed, with its page.
func (s *shell) judge(c command, log, status string) {
	s.t.Helper()
	printed := fatal.Read(s.t, log)
	s.t.Logf("%s:%d: %s: exit status %s\n%s", s.page, c.line, c.text, status, printed)
	fails := len(c.want) > 0 && strings.HasPrefix(c.want[0], "whittle: ") // the page shows an error
	switch {
	case status == "3" && measures.MatchString(c.text), status == "1" && doubts.MatchString(c.text):
		s.busy = true
	case (status != "0") != fails && !s.busy:
		s.t.Error("^ that exit status is not the page's")
	case len(c.want) > 0 && !pattern(c.want).MatchString(normal(printed)):
		s.t.Errorf("^ where the page has\n%s", strings.Join(c.want, "\n"))
	}
}

var (
	hash     = regexp.MustCompile(`\b(?:[0-9a-f]{12,}\b|[0-9a-f]{4}…)`)
	number   = regexp.MustCompile(`(?:\d+[hm])*\d+(?:[.,]\d+)*(?: ?(?:[KM]iB|B|ns|µs|ms|s|m|h)\b)?`)
	progress = regexp.MustCompile(`(?m)^ *… .*\n`)
	space    = regexp.MustCompile(`[ \t]+`)
	margin   = regexp.MustCompile(`(?m)^ | $`)
)

// normal leaves out what differs from run to run: numbers with their units, hashes, the
// width of columns, and lines of progress.
func normal(text string) string {
	text = progress.ReplaceAllString(text, "")
	text = hash.ReplaceAllString(text, "#")
	text = number.ReplaceAllString(text, "#")
	text = space.ReplaceAllString(text, " ")
	return strings.TrimSpace(margin.ReplaceAllString(text, "")) + "\n"
}

// pattern matches what a page prints: … stands for any lines, and in a line for any text.
func pattern(lines []string) *regexp.Regexp {
	var b strings.Builder
	for line := range strings.Lines(normal(strings.Join(lines, "\n"))) {
		if line = strings.TrimSuffix(line, "\n"); line == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`)
	}
	return regexp.MustCompile(`^` + b.String() + `$`)
}
