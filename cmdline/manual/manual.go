// Package manual says what a program of verbs says of itself in the forms of others: a man
// page, and completions for bash, zsh and fish. All are made of the command line's model,
// so a verb or a flag that is added is in all of them.
package manual

import (
	"strings"

	"github.com/alecthomas/kong"
)

// verb is a command line up to a verb; the program itself has no words.
type verb struct {
	words        []string
	help, detail string
	flags        []*kong.Flag
	args         []*kong.Positional
	children     []verb
}

// read gives the verb at a node, and all below it. A verb that runs another one by default
// takes that one's flags, too.
func read(n *kong.Node, words []string) verb {
	v := verb{words: words, help: n.Help, detail: n.Detail, args: n.Positional}
	for _, f := range n.Flags {
		if !f.Hidden {
			v.flags = append(v.flags, f)
		}
	}
	if d := n.DefaultCmd; d != nil {
		of := read(d, words)
		v.flags, v.args = append(v.flags, of.flags...), of.args
		if v.detail == "" {
			v.detail = of.detail
		}
	}
	for _, c := range n.Children {
		if !c.Hidden {
			v.children = append(v.children, read(c, append(words[:len(words):len(words)], c.Name)))
		}
	}
	return v
}

// all visits a verb and those below it.
func (v *verb) all(visit func(*verb)) {
	visit(v)
	for i := range v.children {
		v.children[i].all(visit)
	}
}

func (v *verb) path() string { return strings.Join(v.words, " ") }

// name is the last word.
func (v *verb) name() string { return v.words[len(v.words)-1] }

// names are the flag's, as they are written: --config and -c.
func names(f *kong.Flag) []string {
	out := []string{"--" + f.Name}
	if f.Short != 0 {
		out = append(out, "-"+string(f.Short))
	}
	if f.Tag.Negatable != "" {
		out = append(out, "--no-"+f.Name)
	}
	return out
}

// takesValue reports whether a word follows the flag.
func takesValue(f *kong.Flag) bool { return !f.IsBool() && !f.IsCounter() }

// values are the words that a flag or an argument may be; nil where that is not fixed.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	var out []string
	for w := range strings.SplitSeq(v.Enum, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// firstSentence is what a completion has room for.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(s, ". ")
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(s, ".")
}
