package plan

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"whittle"
)

// Builder assembles a plan: it numbers variables and requests, and checks that
// every variable is defined.
type Builder struct {
	Source Source
	Plan   *Plan
	slots  map[string]int
	// defined holds the variables that something sets, used where each is first
	// used.
	defined map[string]bool
	used    map[string]Position
	names   map[string]int
	shared  map[string]bool // names beyond MaxNames, which share the last
}

// NewBuilder begins a plan of that name.
func NewBuilder(s Source, name string) *Builder {
	return &Builder{
		Source: s, Plan: &Plan{Name: name},
		slots: map[string]int{}, defined: map[string]bool{}, used: map[string]Position{}, names: map[string]int{}, shared: map[string]bool{},
	}
}

// OpenFile reads a file that the plan names at a position. One that cannot be read ends the
// reading of the plan.
func (b *Builder) OpenFile(at Position, name string) []byte {
	if b.Source.Open == nil {
		panic(at.Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", name))
	}
	src, err := b.Source.Open(name)
	if err != nil {
		panic(at.Errorf(whittle.CodeOf(err), "%v", err))
	}
	return src
}

// Finish completes the plan. It returns the variables that are used and that nothing sets,
// in the order of their first uses.
func (b *Builder) Finish() []Undefined {
	var out []Undefined
	for v, at := range b.used {
		if !b.defined[v] {
			out = append(out, Undefined{v, at})
			b.defined[v] = true
		}
	}
	slices.SortFunc(out, func(x, y Undefined) int {
		return cmp.Or(cmp.Compare(x.At.Line, y.At.Line), cmp.Compare(x.At.Col, y.At.Col), strings.Compare(x.Name, y.Name))
	})
	b.Plan.Slots = len(b.slots)
	b.Plan.Names = make([]string, len(b.names))
	for n, i := range b.names {
		b.Plan.Names[i] = n
	}
	if b.Plan.Shared = len(b.shared); b.Plan.Shared > 0 {
		b.Plan.Notes = append(b.Plan.Notes, fmt.Sprintf("the plan has %d names of requests, and %d of them are counted together as %s: a report has %d",
			len(b.names)-1+b.Plan.Shared, b.Plan.Shared, othersName, MaxNames))
	}
	return out
}

// Undefined is a variable that is used at a position of the file, and set nowhere.
type Undefined struct {
	Name string
	At   Position
}

// SlotNames are the names of variables by their slots.
func (b *Builder) SlotNames() []string {
	out := make([]string, len(b.slots))
	for name, i := range b.slots {
		out[i] = name
	}
	return out
}

// Use returns the slot of a variable that is used at a position of the file.
func (b *Builder) Use(name string, at Position) int {
	if _, ok := b.used[name]; !ok {
		b.used[name] = at
	}
	return b.slot(name)
}

// Define returns the slot of a variable that something sets.
func (b *Builder) Define(name string) int {
	b.defined[name] = true
	return b.slot(name)
}

func (b *Builder) slot(name string) int {
	i, ok := b.slots[name]
	if !ok {
		i = len(b.slots)
		b.slots[name] = i
	}
	return i
}

// Slot returns the slot of a variable that something sets or uses. False: nothing does.
func (b *Builder) Slot(name string) (int, bool) {
	i, ok := b.slots[name]
	return i, ok
}

// IsDefined reports whether something read so far sets a variable.
func (b *Builder) IsDefined(name string) bool { return b.defined[name] }

// IsUsed reports whether something read so far uses a variable.
func (b *Builder) IsUsed(name string) bool {
	_, ok := b.used[name]
	return ok
}

// NameIndex returns the index of a request's name in the report. Beyond MaxNames,
// further names share the last.
func (b *Builder) NameIndex(name string) int {
	if i, ok := b.names[name]; ok {
		return i
	}
	if len(b.names) >= MaxNames-1 {
		b.shared[name] = true
		name = othersName
		if i, ok := b.names[name]; ok {
			return i
		}
	}
	b.names[name] = len(b.names)
	return len(b.names) - 1
}

// othersName is the name of requests beyond MaxNames.
const othersName = "(all others)"

// RequestCount is how many names there are so far.
func (b *Builder) RequestCount() int { return len(b.names) }

// Unreported reads a part of the plan whose requests are not in the report.
func (b *Builder) Unreported(read func()) {
	names, shared := b.names, b.shared
	b.names, b.shared = map[string]int{}, map[string]bool{}
	read()
	b.names, b.shared = names, shared
}

// Position is a position in a plan's file, for errors.
type Position struct {
	File      string
	Line, Col int // from 1
}

// Errorf makes an error with the position.
func (p Position) Errorf(code whittle.Code, format string, args ...any) error {
	return whittle.Errorf(code, "%s:%d:%d: %s", p.File, p.Line, p.Col, fmt.Sprintf(format, args...))
}

// Invalid is Errorf with the code whittle.Invalid: a mistake in the plan.
func (p Position) Invalid(format string, args ...any) error {
	return p.Errorf(whittle.Invalid, format, args...)
}

// Source is where files and environment variables of a plan come from. The zero
// value is the file system and the process's environment.
type Source struct {
	// Environment chooses one of config.environments. Empty: none.
	Environment string
	// Open reads a file that a plan names. Nil: the file system, in the plan's
	// folder.
	Open func(name string) ([]byte, error)
	// Files are what else is read: the plan itself, and the folder of its scripts. Nil:
	// the file system.
	Files Files
	// Getenv is the value of {{ $env.NAME }}. Nil: os.Getenv.
	Getenv func(string) string
	// Folder is the plan's, for its scripts. Empty: it has none.
	Folder string
	// Target replaces the plan's, where its scripts see it. Empty: the plan's.
	Target string
	// Variables and Overrides are JSON, Config the path of a file with the config, and
	// Scenario the name or a pattern of the one that runs, of an Artillery plan.
	Variables, Overrides, Config, Scenario string
	// Properties are those of a JMeter plan's __P and __property.
	Properties map[string]string
}

// GivenForArtillery is the flag of the first setting that only an Artillery plan knows.
// Empty: none is given.
func (s *Source) GivenForArtillery() string {
	return cmp.Or(FlagIf(s.Environment != "", "--environment"), FlagIf(s.Variables != "", "--variables"), FlagIf(s.Overrides != "", "--overrides"),
		FlagIf(s.Config != "", "--config"), FlagIf(s.Scenario != "", "--scenario-name"))
}

// FlagIf is a flag that is given. Empty: it is not.
func FlagIf(given bool, flag string) string {
	if given {
		return flag
	}
	return ""
}

// Files are where files come from in the file system's place.
type Files interface {
	// ReadFile is whittle.ReadFile.
	ReadFile(what, path string, limit int64) ([]byte, error)
	// Folder has the files of a plan's folder, for its scripts.
	Folder(dir string) (fs.FS, error)
}

// ReadFile reads a file that the plan is made of; what says which, for errors.
func (s Source) ReadFile(what, path string, limit int64) ([]byte, error) {
	if s.Files != nil {
		return s.Files.ReadFile(what, path, limit)
	}
	return whittle.ReadFile(what, path, limit)
}

// Env returns a variable of the environment.
func (s Source) Env(name string) string {
	if s.Getenv != nil {
		return s.Getenv(name)
	}
	return os.Getenv(name)
}
