package scaffold

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"

	"whittle"
)

// generators are the tools of the project's go.mod, in the versions that it pins, with the
// settings of buf.gen.yaml: neither protoc nor buf is needed. They are run by "go run", which
// heeds GOFLAGS: "go tool" would compile what they import a second time where a user has set
// flags.
var generators = []struct{ tool, parameter string }{
	{"google.golang.org/protobuf/cmd/protoc-gen-go", ""},
	{"github.com/twitchtv/twirp/protoc-gen-twirp", ""},
	{"connectrpc.com/connect/cmd/protoc-gen-connect-go", ",simple,package_suffix"},
}

// maxGenerated bounds what a generator returns, in bytes.
const maxGenerated = 64 << 20

// generate runs the generators in the project and gives their files.
func generate(ctx context.Context, v *view, dir string) ([]file, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "generate code: %w", err).
			WithHint("install Go 1.26 or newer from https://go.dev/dl/ and run the same command again: it goes on from here")
	}
	var out []file
	for _, g := range generators {
		v.request.Parameter = new("module=" + v.Module + "/internal/gen" + g.parameter)
		in, err := proto.Marshal(v.request)
		if err != nil {
			return nil, whittle.Errorf(whittle.Internal, "generate code: %w", err)
		}
		b, err := goTool(ctx, dir, in, "run", g.tool)
		if err != nil {
			return nil, err
		}
		var resp pluginpb.CodeGeneratorResponse
		if err := proto.Unmarshal(b, &resp); err != nil {
			return nil, whittle.Errorf(whittle.Internal, "generate code: read what %s returned: %w", path.Base(g.tool), err)
		}
		if resp.Error != nil {
			return nil, whittle.Errorf(whittle.Invalid, "generate code: %s: %s", path.Base(g.tool), resp.GetError())
		}
		for _, f := range resp.GetFile() {
			out = append(out, file{path.Join("internal/gen", f.GetName()), []byte(f.GetContent()), true})
		}
	}
	return out, nil
}

// goFlags are the user's flags of the go command, which are in force when they build
// the project themselves, but for those that choose other modules than go.mod does.
func goFlags() string {
	flags := strings.Fields(os.Getenv("GOFLAGS"))
	return strings.Join(slices.DeleteFunc(flags, func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "mod" || name == "modfile"
	}), " ")
}

// goTool runs a go command in the project, apart from any workspace around it.
func goTool(ctx context.Context, dir string, in []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+goFlags())
	cmd.Stdin = bytes.NewReader(in)
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		said := strings.TrimSpace(stderr.b.String() + stdout.b.String())
		return nil, whittle.Errorf(whittle.Unavailable, "run go %s: %w\n%s", strings.Join(args, " "), err, clip(said)).
			WithHint("if modules are missing, let this machine reach a Go module proxy (go env GOPROXY), and run the same command again")
	}
	return stdout.b.Bytes(), nil
}

// clip keeps the end of what a command said.
func clip(s string) string {
	const most = 8 << 10
	if len(s) > most {
		return "…" + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}

// limited keeps what is written, up to maxGenerated.
type limited struct{ b bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.b.Len()+len(p) > maxGenerated {
		return 0, errors.New("it writes too much")
	}
	return l.b.Write(p)
}

// Build vets, builds and tests the project. said receives what is being done.
func (p *Project) Build(ctx context.Context, said func(string)) error {
	for _, step := range []struct {
		what string
		args []string
	}{
		{"building", []string{"build", "./..."}},
		{"vetting", []string{"vet", "./..."}},
		{"testing", []string{"test", "-vet=off", "./..."}}, // it is vetted
	} {
		said(step.what + " the project")
		if _, err := goTool(ctx, p.Dir, nil, step.args...); err != nil {
			return err
		}
	}
	return nil
}
