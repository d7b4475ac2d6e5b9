package script

import (
	"errors"
	"strings"

	"github.com/grafana/sobek"

	"whittle"
)

// problem makes an error of the engine one that says where in the script it arose:
// "processor.js:3:9: TypeError: …". What is an error of ours passes as it is.
func problem(err error) error {
	if err == nil {
		return nil
	}
	if stopped, ok := errors.AsType[*sobek.InterruptedError](err); ok {
		if why, ok := stopped.Value().(error); ok {
			return whittle.Errorf(whittle.CodeOf(why), "%s%w", place(stopped.Stack()), why)
		}
	}
	if _, ok := errors.AsType[*sobek.StackOverflowError](err); ok {
		return whittle.Errorf(whittle.ResourceExhausted, "calls are nested deeper than %d", maxCallDepth)
	}
	if thrown, ok := errors.AsType[*sobek.Exception](err); ok {
		return whittle.Errorf(whittle.Invalid, "%s%s", place(thrown.Stack()), Describe(thrown.Value()))
	}
	if _, ok := errors.AsType[*whittle.Error](err); ok {
		return err
	}
	return whittle.Errorf(whittle.Invalid, "%w", err)
}

// place is the position of the innermost frame within a file; empty: no frame is in a file.
func place(stack []sobek.StackFrame) string {
	for i := range stack {
		at := stack[i].Position()
		if name := stack[i].SrcName(); at.Line > 0 && !strings.HasPrefix(name, BuiltinPrefix) && name != "<native>" {
			return at.String() + ": "
		}
	}
	return ""
}

// Describe is a thrown or printed value as a text: an error's name and message, and
// what anything else is as a text, cut where it is long.
func Describe(v Value) string {
	if v == nil {
		return "undefined"
	}
	text := strings.TrimPrefix(v.String(), "GoError: ")
	if len(text) > maxLine {
		text = text[:maxLine] + "…"
	}
	return text
}

// compileError gives a mistake of the source its file, line and column.
func compileError(name string, err error) error {
	if wrong, ok := errors.AsType[*sobek.CompilerSyntaxError](err); ok && wrong.File != nil {
		return whittle.Errorf(whittle.Invalid, "%s: SyntaxError: %s", wrong.File.Position(wrong.Offset).String(), wrong.Message)
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "SyntaxError: "), name+": ")
	return whittle.Errorf(whittle.Invalid, "%s: SyntaxError: %s", name, text)
}
