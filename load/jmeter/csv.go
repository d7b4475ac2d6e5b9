package jmeter

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	a, known := j.perLoops[e]
	switch {
	case known:
	case e.name == "CSVDataSet":
		a = j.dataSet(e)
	case e.name == "CounterConfig":
		a = j.counterElement(e)
	}
	j.perLoops[e] = a
	return a
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
		j.noteOf(e, ": row %d of %s is empty: as in JMeter it counts as the file's end, and its variables are %s", i+1, file.name, endOfFile)
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

// table reads a data set's file: the variables that its columns fill, and its
// rows.
func (j *reader) table(e *element) (names []string, rows [][]expr.Value) {
	j.refuseOthers(e, "filename", "fileEncoding", "variableNames", "delimiter", "quotedData", "recycle", "stopThread", "shareMode", "ignoreFirstLine")
	if !slices.Contains([]string{"", "UTF-8", "UTF8", "US-ASCII"}, strings.ToUpper(j.fixed(e.tag, "fileEncoding"))) {
		panic(e.where("fileEncoding").Errorf(whittle.Unsupported, "the encoding %s is not supported: a CSV file is in UTF-8", e.value("fileEncoding")))
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
	rows = j.open(e.where("filename"), name, delimiter, e.is("quotedData"))
	if len(rows) == 0 {
		return nil, nil
	}
	names = strings.Split(j.fixed(e.tag, "variableNames"), ",")
	if hasHeaderLine(e) {
		names = nil
		for _, cell := range rows[0] {
			names = append(names, cell.Text)
		}
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

// open reads a CSV file once.
func (j *reader) open(at plan.Position, name, delimiter string, quoted bool) [][]expr.Value {
	key := fmt.Sprint(name, delimiter, quoted)
	if rows, ok := j.files[key]; ok {
		return rows
	}
	src := j.OpenFile(at, name)
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	var rows [][]expr.Value
	if quoted {
		rows = j.quotedRows(at, name, string(src), rune(delimiter[0]))
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

// quotedRows reads rows of quoted values, as far as encoding/csv reads them as JMeter does.
func (j *reader) quotedRows(at plan.Position, name, text string, delimiter rune) (rows [][]expr.Value) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if strings.ContainsRune(text, '\r') || strings.Contains(text, "\n\n") || strings.HasPrefix(text, "\n") {
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: a file of quoted values has an empty line, or a carriage return alone", name))
	}
	in := csv.NewReader(strings.NewReader(text))
	in.Comma, in.FieldsPerRecord = delimiter, -1
	all, err := in.ReadAll()
	if err != nil {
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: %v", name, err))
	}
	for _, record := range all {
		rows = append(rows, cells(record))
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
	return func(n int64) string {
		sign := "" // ahead of all
		if n < 0 {
			sign, n = "-", -n
		}
		return fmt.Sprintf("%s%s%0*d%s", sign, before, len(digits), n, after)
	}
}
