// Release builds what users install, of the commit that is checked out: an archive for
// each system, packages for Debian, what each binary is made of (CycloneDX) and the sums
// of all. The same commit and Go release give the same bytes, in whichever folder.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// target is a system that binaries are made for.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// program is a binary that is released: cmd/whittle as it is built with its tags.
type program struct{ name, tags string }

// programs are whittle, and the same with a NATS server in it, which is larger.
var programs = []program{{name: "whittle"}, {name: "whittle-fleet", tags: "embedded"}}

func (t target) String() string { return t.os + "_" + t.arch }

func main() {
	root := flag.String("root", "..", "the repository")
	out := flag.String("out", "../out/release", "the folder to write to; it is made anew")
	only := flag.String("only", "", "one system alone, such as linux_amd64")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *root, *out, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what is being made.
type release struct {
	root, out, work string
	version, commit string
	at              time.Time // of the commit
}

func run(ctx context.Context, root, out, only string) error {
	work, err := os.MkdirTemp("", "whittle-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	r := &release{root: root, out: out, work: work}
	if err := r.identify(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	extra, err := r.extras(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if only == "" || only == t.String() {
			if err := r.make(ctx, t, extra); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
		}
	}
	return r.sums()
}

// identify says which commit is released. What is not committed is in no release: a file of
// Go that git does not know would be built in.
func (r *release) identify(ctx context.Context) error {
	changed, err := r.git(ctx, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("these are not committed, so nobody could build the same again:\n%s", changed)
	}
	if r.commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	at, err := r.git(ctx, "show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return err
	}
	when, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return err
	}
	r.at = when.UTC()
	r.version = "v0.0.0-" + r.at.Format("20060102150405") + "-" + r.commit[:12]
	if tag, err := r.git(ctx, "describe", "--tags", "--exact-match", "--match", "v*"); err == nil {
		r.version = tag
	}
	return nil
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", r.root}, args...)...))
}

func output(cmd *exec.Cmd) (string, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	b, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, errs.String())
	}
	return strings.TrimSpace(string(b)), nil
}

// build makes a static binary. Nothing of the machine is in it: no paths, no build id, and
// of the commit what is given to the linker.
func (r *release) build(ctx context.Context, t target, tags, to string) error {
	set := func(name, value string) string { return " -X whittle/cmdline." + name + "=" + value }
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags="+tags,
		"-ldflags", "-s -w -buildid="+set("version", r.version)+set("commit", r.commit)+set("date", r.at.Format(time.RFC3339)),
		"-o", to, "./cmd/whittle")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0")
	_, err := output(cmd)
	return err
}

// file is one of an archive.
type file struct {
	path    string
	content []byte
	mode    int64
}

// extras are what goes with the binaries. They are made by the binary itself, built for
// this machine.
func (r *release) extras(ctx context.Context) ([]file, error) {
	self := filepath.Join(r.work, "self")
	if err := r.build(ctx, target{runtime.GOOS, runtime.GOARCH}, "", self); err != nil {
		return nil, err
	}
	var files []file
	says := map[string][]string{
		"whittle.schema.json": {"schema"},
		"routes.schema.json":  {"schema", "--include"},
	}
	for path, args := range says {
		said, err := output(exec.CommandContext(ctx, self, args...))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path, []byte(said + "\n"), 0o644})
	}
	for path, from := range map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md",
		"systemd/whittle.service": "deploy/systemd/whittle.service", "etc/whittle.yaml": "deploy/deb/whittle.yaml",
	} {
		b, err := os.ReadFile(filepath.Join(r.root, from))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path, b, 0o644})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// make writes a target's archives, what is in their binaries, and on Linux its package.
func (r *release) make(ctx context.Context, t target, extra []file) error {
	for _, p := range programs {
		binary := filepath.Join(r.work, p.name+"_"+t.String())
		if err := r.build(ctx, t, p.tags, binary); err != nil {
			return err
		}
		b, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		name := p.name + "_" + strings.TrimPrefix(r.version, "v") + "_" + t.String()
		archive, err := r.archive(name, append([]file{{p.name, b, 0o755}}, extra...))
		if err != nil {
			return err
		}
		parts, err := r.parts(binary, sha256.Sum256(b))
		if err != nil {
			return err
		}
		writes := []error{
			os.WriteFile(filepath.Join(r.out, name+".tar.gz"), archive, 0o644),
			os.WriteFile(filepath.Join(r.out, name+".cdx.json"), parts, 0o644),
		}
		if t.os == "linux" && p.name == "whittle" {
			writes = append(writes, r.deb(t, b, extra))
		}
		if err := errors.Join(writes...); err != nil {
			return err
		}
	}
	return nil
}

// sums lists every file with its SHA-256, as sha256sum -c reads it.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(b), e.Name())
	}
	fmt.Print(list.String())
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), list.Bytes(), 0o644)
}
