package cmdline

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// command is what a program may be called by: shells read it as a word.
var command = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// What the shells source: each asks the program itself, by its hidden verb complete, for the
// words that may stand at the end of a line, and completes names of files where there is none.
var scripts = map[string]string{
	"bash": `_NAME() {
  local IFS=$'\n'
  COMPREPLY=($(NAME complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]#=}")); fi
}
complete -o filenames -F _NAME NAME
`,
	"zsh": `#compdef NAME
_NAME() {
  local -a all=(${(f)"$(NAME complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#all )); then compadd -- $all; else _files; fi
}
if [[ ${funcstack[1]} == _NAME ]]; then _NAME "$@"; else compdef _NAME NAME; fi
`,
	"fish": `complete -c NAME -a '(NAME complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

// Completion writes what a shell (bash, zsh or fish) sources to complete the words of a program
// that is called by a name.
func Completion(w io.Writer, shell, name string) error {
	if !command.MatchString(name) {
		return fmt.Errorf("%q is not a command's name: letters, digits, dots, dashes and underscores", name)
	}
	_, err := io.WriteString(w, strings.ReplaceAll(scripts[shell], "NAME", name))
	return err
}

// Complete gives the words that may stand in the place of the last one: verbs, flags, or what a
// flag or an argument may be. None: any text may, such as a file's name.
func Complete(app *kong.Application, words []string) (all []string) {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "=" }) // bash takes --flag=value apart
	if len(words) == 0 {
		words = []string{""}
	}
	node, last := app.Node, words[len(words)-1]
	var valued *kong.Flag // whose value is next
	for _, word := range words[:len(words)-1] {
		if valued != nil {
			valued = nil
		} else if valued = flagOf(node, word); valued == nil {
			if i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word }); i >= 0 {
				node = node.Children[i]
			}
		}
	}
	switch {
	case valued != nil:
		all = enumOf(valued.Value)
	case strings.HasPrefix(last, "-"):
		for _, f := range flagsOf(node) {
			if !f.Hidden {
				all = append(all, "--"+f.Name)
			}
		}
	default:
		for _, c := range node.Children {
			if !c.Hidden {
				all = append(all, c.Name)
			}
		}
		for _, a := range node.Positional {
			all = append(all, enumOf(a)...)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(w string) bool { return !strings.HasPrefix(w, last) })
}

// flagsOf are a verb's flags, with those of the one that it runs by default and of all verbs
// around it.
func flagsOf(node *kong.Node) (flags []*kong.Flag) {
	if node.DefaultCmd != nil {
		flags = node.DefaultCmd.Flags
	}
	for ; node != nil; node = node.Parent {
		flags = append(flags[:len(flags):len(flags)], node.Flags...)
	}
	return flags
}

// flagOf gives the flag that a word is, if a value follows it.
func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, f := range flagsOf(node) {
		is := word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short)
		if is && !f.IsBool() && !f.IsCounter() {
			return f
		}
	}
	return nil
}

// enumOf are the words that a flag or an argument may be; nil: that is not fixed.
func enumOf(v *kong.Value) (all []string) {
	for w := range strings.SplitSeq(v.Enum, ",") {
		if w = strings.TrimSpace(w); w != "" {
			all = append(all, w)
		}
	}
	return all
}
