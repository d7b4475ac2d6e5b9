package guard

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// junit is the part of JUnit's form that CI systems read.
type junit struct {
	XMLName  xml.Name  `xml:"testsuite"`
	Name     string    `xml:"name,attr"`
	Tests    int       `xml:"tests,attr"`
	Failures int       `xml:"failures,attr"`
	Case     junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the verdict as one test of JUnit's form: it fails where the guard
// does, with what is to blame. Where the guard cannot tell, the test passes and says so.
func (v *Verdict) WriteJUnit(w io.Writer, service string) error {
	out := junit{Name: "whittle profile guard", Tests: 1, Case: junitCase{Class: "whittle.profile.guard", Name: "CPU per request of " + service}}
	if v.Err() != nil {
		out.Failures = 1
		out.Case.Failure = &junitFailure{Message: v.Sentence(), Type: string(v.Outcome), Text: v.details()}
	} else {
		out.Case.Out = v.Sentence() + "\n" + v.details()
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// details are what is to blame, and the notes, a line each.
func (v *Verdict) details() string {
	var b strings.Builder
	for _, x := range v.Blame {
		fmt.Fprintf(&b, "%s, with what it asks for: %.1f µs a request before, %.1f µs now\n", x.Function, x.Before/1e3, x.After/1e3)
	}
	for _, x := range v.Within {
		fmt.Fprintf(&b, "%s, by itself: %.1f µs a request before, %.1f µs now\n", x.Function, x.Before/1e3, x.After/1e3)
	}
	for _, note := range v.Warnings {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// WriteGitHub writes the verdict as a command of GitHub's workflows, which shows it at
// the pull request: an error where the guard fails, a warning where there are notes,
// else a notice.
func (v *Verdict) WriteGitHub(w io.Writer, service string) error {
	level := "notice"
	switch {
	case v.Err() != nil:
		level = "error"
	case len(v.Warnings) > 0:
		level = "warning"
	}
	_, err := fmt.Fprintf(w, "::%s title=%s::%s\n", level, githubProperty.Replace("CPU per request of "+service), githubText.Replace(v.Sentence()+"\n"+strings.TrimSpace(v.details())))
	return err
}

// What GitHub takes for its own in a command, as percent signs and digits.
var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
