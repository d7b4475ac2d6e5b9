package jmeter

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// endOfFile is the value of a data set's variables once it has no more rows.
const endOfFile = "<EOF>"

// sharedFile is what data sets read on in together: those of one file that are shared by the
// same.
type sharedFile struct{ name, by string }

// perLoopAction reads the elements that go on with each loop. Nil: it is none.
func (j *reader) perLoopAction(e *element) plan.Action {
	if a, ok := j.perLoops[e]; ok {
		return a
	}
	a := j.newPerLoop(e)
	j.perLoops[e] = a
	return a
}

func (j *reader) newPerLoop(e *element) plan.Action {
	switch e.name {
	case "CSVDataSet":
		return j.dataSet(e)
	case "CounterConfig":
		return j.counterElement(e)
	case "RandomVariableConfig":
		return j.randomVariable(e)
	}
	return nil
}

// dataSet deals a row of a CSV file to a user at each loop.
func (j *reader) dataSet(e *element) plan.Action {
	names, rows := j.table(e)
	recycle, share, file := e.value("recycle") != "false", strings.TrimPrefix(e.value("shareMode"), "shareMode."), sharedFile{name: j.fileNameOf(e)}
	switch share {
	case "all", "group", "thread", "":
	default:
		file.by = share // a name, which all with the same name share
	}
	if len(rows) == 0 {
		panic(e.where("filename").Invalid("%s has no rows", e.value("filename")))
	}
	var slots []int
	for _, n := range names {
		slots = append(slots, j.Define(n))
	}
	if i := slices.IndexFunc(rows, func(row []expr.Value) bool { return row == nil }); i >= 0 {
		j.noteOf(e, ": row %d of %s is empty, or has a quote where none may be: as in JMeter it counts as the file's end, and its variables are %s", i+1, file.name, endOfFile)
	}
	if !recycle {
		j.Plan.DealtOnce = e.title()
	}
	return does(func(u plan.User) bool {
		values := u.Scope().Values
		var n int64 // rows dealt so far, this one included
		switch share {
		case "thread":
			n = countForUser(u, file)
		case "group":
			n = countAll(u, [2]any{file, u.GroupIndex()})
		default:
			n = countAll(u, file)
		}
		row := rows[(n-1)%int64(len(rows))]
		if n > int64(len(rows)) && !recycle || row == nil {
			if e.is("stopThread") { // a user for whom no row is left ends
				u.Stop()
				return false
			}
			for _, slot := range slots {
				values[slot] = expr.TextValue(endOfFile)
			}
			return true
		}
		for i, slot := range slots[:min(len(slots), len(row))] {
			values[slot] = row[i]
		}
		return true
	})
}

// encodings are those of CSV files by their names; nil is UTF-8.
var encodings = map[string]encoding.Encoding{
	"": nil, "UTF-8": nil, "UTF8": nil, "US-ASCII": nil, "ISO-8859-1": charmap.ISO8859_1, "LATIN1": charmap.ISO8859_1, "WINDOWS-1252": charmap.Windows1252, "CP1252": charmap.Windows1252,
	"GBK": simplifiedchinese.GBK, "GB2312": simplifiedchinese.GBK, "GB18030": simplifiedchinese.GB18030,
}

// table reads a data set's file: the variables that its columns fill, and its
// rows.
func (j *reader) table(e *element) (names []string, rows [][]expr.Value) {
	j.refuseOthers(e, "filename", "fileEncoding", "variableNames", "delimiter", "quotedData", "recycle", "stopThread", "shareMode", "ignoreFirstLine")
	coding, known := encodings[strings.ToUpper(j.fixed(e.tag, "fileEncoding"))]
	if !known {
		panic(e.where("fileEncoding").Errorf(whittle.Unsupported, "the encoding %s is not supported: a CSV file is in UTF-8, ISO-8859-1, windows-1252 or GBK", e.value("fileEncoding")))
	}
	name := j.fileNameOf(e)
	if name == "" {
		panic(e.where("filename").Invalid("%s names no file: JMeter's threads fail by it, and send nothing", e.title()))
	}
	delimiter := e.value("delimiter")
	switch delimiter {
	case "":
		delimiter = ","
	case `\t`:
		delimiter = "\t"
	}
	if strings.ContainsAny(delimiter, "\"\r\n") || len(delimiter) > 1 && (e.is("quotedData") || hasHeaderLine(e)) {
		panic(e.where("delimiter").Errorf(whittle.Unsupported, "the delimiter %q is not supported: it has no quotes and, where lines are quoted or name the variables, one character", delimiter))
	}
	rows = j.open(e.where("filename"), name, delimiter, e.is("quotedData"), coding)
	if len(rows) == 0 {
		return nil, nil
	}
	names = strings.Split(j.fixed(e.tag, "variableNames"), ",")
	if hasHeaderLine(e) {
		names = texts(rows[0])
	}
	if hasHeaderLine(e) || e.is("ignoreFirstLine") {
		rows = rows[1:]
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, rows
}

// fileNameOf is the name of a data set's file.
func (j *reader) fileNameOf(e *element) string {
	j.atStart = j.early[e]
	defer func() { j.atStart = false }()
	return j.fixed(e.tag, "filename")
}

// hasHeaderLine says that the first line of a data set's file names its variables.
func hasHeaderLine(e *element) bool { return strings.TrimSpace(e.value("variableNames")) == "" }

// findColumns lists the variables that the first lines of files name. What the
// plan's own variables say is known by then: a file's name may be made of them.
func (j *reader) findColumns(e *element) {
	if e.name == "CSVDataSet" && (hasHeaderLine(e) || strings.Contains(e.value("variableNames"), "${")) {
		names, _ := j.table(e)
		for _, n := range names {
			if n == "" {
				continue
			}
			j.runtime[n] = true
			if fixed, ok := j.constants[n]; ok {
				// It holds that until the first row is dealt.
				j.setup = append(j.setup, plan.Assignment{Slot: j.Define(n), Value: expr.Template(nil).Literal(fixed)})
			}
		}
	}
	for _, c := range e.below {
		j.findColumns(c)
	}
}

func texts(row []expr.Value) []string {
	out := make([]string, len(row))
	for i := range row {
		out[i] = row[i].Text
	}
	return out
}

// open reads a CSV file once.
func (j *reader) open(at plan.Position, name, delimiter string, quoted bool, coding encoding.Encoding) [][]expr.Value {
	key := fmt.Sprint(name, delimiter, quoted, coding)
	if rows, ok := j.files[key]; ok {
		return rows
	}
	src := j.openFile(at, name)
	if coding != nil {
		var err error
		if src, err = coding.NewDecoder().Bytes(src); err != nil {
			panic(at.Invalid("%s: %v", name, err))
		}
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	var rows [][]expr.Value
	if quoted {
		rows = quotedRows(string(src), delimiter[0])
	} else {
		for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(string(src), "\r\n", "\n"), "\r", "\n")) {
			if line = strings.TrimSuffix(line, "\n"); line == "" {
				rows = append(rows, nil)
			} else {
				rows = append(rows, cells(strings.Split(line, delimiter)))
			}
		}
	}
	if len(rows) > plan.MaxRows {
		panic(at.Errorf(whittle.ResourceExhausted, "%s has more than %d rows", name, plan.MaxRows))
	}
	j.files[key] = rows
	return rows
}

// quotedRows reads rows of quoted values as JMeter does. One with a quote where none may be
// is no row, and what follows the quote is the next.
func quotedRows(text string, delimiter byte) (rows [][]expr.Value) {
	var row []expr.Value
	var b strings.Builder
	quoted, closed, begun := false, false, false // in quotes; just after their end; a value has begun or is due
	end := func() {
		row = append(row, expr.TextValue(b.String()))
		b.Reset()
		closed, begun = false, false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted:
			if quoted, closed = c != '"', c == '"'; quoted {
				b.WriteByte(c)
			}
		case closed && c == '"':
			b.WriteByte(c)
			quoted, closed = true, false
		case c == delimiter:
			end()
			begun = true
		case c == '\n' || c == '\r':
			if strings.HasPrefix(text[i:], "\r\n") {
				i++
			}
			end()
			rows, row = append(rows, row), nil
		case c == '"' && b.Len() == 0 && !closed:
			quoted, begun = true, true
		case closed || c == '"':
			rows, row = append(rows, nil), nil
			b.Reset()
			closed, begun = false, false
		default:
			b.WriteByte(c)
			begun = true
		}
	}
	switch {
	case quoted:
		rows = append(rows, nil)
	case begun:
		end()
		rows = append(rows, row)
	}
	return rows
}

func cells(record []string) []expr.Value {
	out := make([]expr.Value, len(record))
	for i, c := range record {
		out[i] = expr.TextValue(c)
	}
	return out
}

// csvRead compiles __CSVRead(file, column) and __CSVRead(file, next): a user
// keeps its row until it asks for the next; all users share the file.
func (j *reader) csvRead(c *functionCall) expr.Expression {
	name := c.fixed(0, "")
	column := c.fixed(1, "")
	if name == "" || strings.HasPrefix(name, "*") {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: takes a file and a column or next; aliases are not supported", c.raw))
	}
	rows := j.open(c.at, name, ",", false, nil)
	if i := slices.IndexFunc(rows, func(row []expr.Value) bool { return row == nil }); i >= 0 {
		rows = rows[:i] // JMeter reads as far as the first empty line
	}
	if len(rows) == 0 {
		panic(c.at.Invalid("%s has no rows", name))
	}
	key := csvKey(name)
	next := func(u expr.User) int64 {
		at := userState[int64](u, key)
		*at = countAll(u, key)
		return *at
	}
	present := func(u expr.User) int64 {
		at := *userState[int64](u, key)
		if at == 0 {
			at = next(u)
		}
		return (at - 1) % int64(len(rows))
	}
	if column == "next" {
		return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
			present(s.User)
			next(s.User)
			return expr.TextValue("")
		}}
	}
	i, err := strconv.Atoi(column)
	if err != nil || i < 0 {
		panic(c.at.Invalid("${__%s}: %q is not a column", c.raw, column))
	}
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		row := rows[present(s.User)]
		if i >= len(row) {
			return expr.TextValue("")
		}
		return row[i]
	}}
}

type csvKey string

// groupRound is which loop of its group a counter has counted in last.
type groupRound struct{ loop int64 }

// counterElement sets a variable to the next number at each loop.
func (j *reader) counterElement(e *element) plan.Action {
	j.refuseOthers(e, "CounterConfig.start", "CounterConfig.end", "CounterConfig.incr", "CounterConfig.name", "CounterConfig.per_user", "CounterConfig.format",
		"CounterConfig.reset_on_tg_iteration")
	slot, format := j.Define(strings.TrimSpace(e.value("CounterConfig.name"))), j.decimalFormat(e, "CounterConfig.format")
	each := e.is("CounterConfig.per_user") // every user counts for itself
	afresh := each && e.is("CounterConfig.reset_on_tg_iteration")
	number := func(name, other string) expr.Template {
		text := cmp.Or(strings.TrimSpace(e.value(name)), other)
		t := j.compile(e.where(name), text, expr.AsText)
		if fixed, ok := t.Constant(); ok && text != other {
			if _, err := strconv.ParseInt(strings.TrimSpace(fixed), 10, 64); err != nil {
				return t // JMeter takes it as 0
			}
			j.whole(e.tag, name, -expr.MaxRandom, expr.MaxRandom, 0)
		}
		return t
	}
	begin, by := number("CounterConfig.start", "0"), number("CounterConfig.incr", "0")
	end := number("CounterConfig.end", strconv.FormatInt(expr.MaxRandom, 10))
	return does(func(u plan.User) bool {
		scope := u.Scope()
		if afresh {
			if at := userState[groupRound](u, [1]any{e}); at.loop != u.Loop() {
				at.loop = u.Loop()
				*userState[int64](u, e) = 0
			}
		}
		n := count(u, e, each)
		first, step, last := renderInt(begin, scope), renderInt(by, scope), renderInt(end, scope)
		length := int64(1)
		if step > 0 {
			length = max((last-first)/step+1, 1)
		} else if first <= last {
			length = math.MaxInt64 // down, it never passes the last one
		}
		scope.Values[slot] = expr.TextValue(format(first + (n-1)%length*step))
		return true
	})
}

// decimalFormat reads a number's format of zeros and marks, such as 000, with texts
// around it.
func (j *reader) decimalFormat(e *element, name string) func(int64) string {
	shape := j.fixed(e.tag, name)
	begin := strings.IndexAny(shape, "0#")
	end := strings.LastIndexAny(shape, "0#") + 1
	if begin < 0 {
		return func(n int64) string { return shape + strconv.FormatInt(n, 10) }
	}
	digits := strings.TrimLeft(shape[begin:end], "#")
	if strings.Trim(digits, "0") != "" {
		panic(e.where(name).Errorf(whittle.Unsupported, "the number format %s is not supported: zeros, such as 000, are", shape))
	}
	before, after := strings.ReplaceAll(shape[:begin], "'", ""), strings.ReplaceAll(shape[end:], "'", "")
	return func(n int64) string { return digitsOf(before, n, len(digits)) + after }
}

// digitsOf writes a number of so many digits at least; a minus is ahead of all.
func digitsOf(before string, n int64, width int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%s%0*d", sign, before, width, n)
}

// randomVariable draws a number at each loop.
func (j *reader) randomVariable(e *element) plan.Action {
	j.refuseOthers(e, "maximumValue", "minimumValue", "outputFormat", "perThread", "randomSeed", "variableName")
	slot := j.Define(j.fixed(e.tag, "variableName"))
	low := j.text(e, "minimumValue")
	high := j.text(e, "maximumValue")
	format := j.decimalFormat(e, "outputFormat")
	draw := func(u plan.User, n int64) int64 { return u.Scope().RNG.Int64N(n) }
	if seed, err := strconv.ParseInt(j.fixed(e.tag, "randomSeed"), 10, 64); err == nil {
		draw = seeded(e, seed, e.is("perThread"))
		if !e.is("perThread") {
			j.undivided(e) // the numbers of a seed are dealt to all users in turn
		}
	}
	return does(func(u plan.User) bool {
		s := u.Scope()
		a, b := renderInt(low, s), renderInt(high, s)
		if a > b {
			return true // as in JMeter, the variable stays as it was
		}
		n := b - a + 1
		if n > math.MaxInt32 || n <= 0 {
			n = math.MaxInt32
		}
		s.Values[slot] = expr.TextValue(format(a + draw(u, n)))
		return true
	})
}

// seeded draws numbers below a bound as Java's Random of that seed: to all users in turn,
// or the same to each.
func seeded(key any, seed int64, each bool) func(u plan.User, n int64) int64 {
	type draws struct {
		mu  sync.Mutex
		rng *javaRandom // guarded by mu
	}
	return func(u plan.User, n int64) int64 {
		span := expr.StateOfRun
		if each {
			span = expr.StateOfUser
		}
		d := u.State(span, key, func() any { return &draws{rng: newJavaRandom(seed)} }).(*draws)
		d.mu.Lock()
		defer d.mu.Unlock()
		return int64(d.rng.below(int32(n))) //nolint:gosec // it is at most MaxInt32
	}
}

// javaRandom is java.util.Random: a linear congruential generator of 48 bits, as its
// documentation defines it.
type javaRandom struct{ state uint64 }

func newJavaRandom(seed int64) *javaRandom {
	return &javaRandom{(uint64(seed) ^ 0x5DEECE66D) & (1<<48 - 1)} //nolint:gosec // its bits are meant
}

func (r *javaRandom) next(bits int) int32 {
	r.state = (r.state*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int32(r.state >> (48 - bits)) //nolint:gosec // its bits are meant
}

// below is nextInt(n).
func (r *javaRandom) below(n int32) int32 {
	bits := r.next(31)
	if n&(n-1) == 0 {
		return int32(int64(n) * int64(bits) >> 31) //nolint:gosec // it is below n
	}
	value := bits % n
	for bits-value+(n-1) < 0 {
		bits = r.next(31)
		value = bits % n
	}
	return value
}
