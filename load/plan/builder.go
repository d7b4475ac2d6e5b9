package plan

// Builder puts a plan together: it numbers variables and requests, and checks
// what only the whole can tell.
type Builder struct {
	Source Source
	Plan   *Plan
	slots  map[string]int
	// defined and used say which variables something fills, and where each is
	// first used.
	defined map[string]bool
	used    map[string]Position
	names   map[string]int
}

// NewBuilder begins a plan of that name.
func NewBuilder(s Source, name string) *Builder {
	return &Builder{
		Source: s, Plan: &Plan{Name: name},
		slots: map[string]int{}, defined: map[string]bool{}, used: map[string]Position{}, names: map[string]int{},
	}
}

// Finish checks the whole plan. An error points at the first use of a variable
// that nothing defines.
func (b *Builder) Finish() error {
	var first Position
	name := ""
	for v, at := range b.used {
		if !b.defined[v] && (name == "" || at.before(first) || at == first && v < name) {
			first, name = at, v
		}
	}
	if name != "" {
		return first.Invalid("{{ %s }}: nothing in the plan defines %s", name, name)
	}
	b.Plan.Slots = len(b.slots)
	b.Plan.Names = make([]string, len(b.names))
	for n, i := range b.names {
		b.Plan.Names[i] = n
	}
	return nil
}

// Use gives the place of a variable that is used at a place of the file.
func (b *Builder) Use(name string, at Position) int {
	if _, ok := b.used[name]; !ok {
		b.used[name] = at
	}
	return b.slot(name)
}

// Define gives the place of a variable that something fills.
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

// IsDefined says whether something read so far fills a variable.
func (b *Builder) IsDefined(name string) bool { return b.defined[name] }

// IsUsed says whether something read so far reads a variable.
func (b *Builder) IsUsed(name string) bool {
	_, ok := b.used[name]
	return ok
}

// NameIndex gives the place of a request's name in the report. Beyond
// maxNames, further names share the last.
func (b *Builder) NameIndex(name string) int {
	if i, ok := b.names[name]; ok {
		return i
	}
	if len(b.names) >= MaxNames-1 {
		name = "(all others)"
		if i, ok := b.names[name]; ok {
			return i
		}
	}
	b.names[name] = len(b.names)
	return len(b.names) - 1
}

// RequestCount is how many names there are so far.
func (b *Builder) RequestCount() int { return len(b.names) }

// Unreported reads something whose requests are not the report's.
func (b *Builder) Unreported(read func() error) error {
	names := b.names
	b.names = map[string]int{}
	defer func() { b.names = names }()
	return read()
}
