package report

import (
	"fmt"

	"whittle/internal/units"
	"whittle/load/script" //nolint:depguard // of a lower rank
)

// ScriptFailure says that a script of the plan failed at one place, and how often.
type ScriptFailure = script.Failure

const maxScriptLines = 10

// ScriptLines say which scripts failed, a line for each place, the first ten.
func ScriptLines(failures []ScriptFailure) (lines []string) {
	for i, f := range failures {
		if i == maxScriptLines {
			return append(lines, fmt.Sprintf("and at %s more", units.Counted(len(failures)-i, "place")))
		}
		at := f.File
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
		}
		lines = append(lines, fmt.Sprintf("%s (%s) %s, such as: %s", f.Element, at, units.Counted(int(f.Count), "time"), f.Sample))
	}
	return lines
}
