package manual

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are those that completions are made for.
var Shells = []string{"bash", "zsh", "fish"}

// command is what a program may be called by: shells read it as a word.
var command = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Completion writes what a shell sources to complete the verbs of a program that is called
// by a name, their flags and these flags' words; where any text may stand, it completes
// names of files.
func Completion(w io.Writer, shell, name string, app *kong.Application) error {
	if !command.MatchString(name) {
		return fmt.Errorf("%q is no name of a command: letters, digits, dots, dashes and underscores", name)
	}
	root := read(app.Node, nil)
	var b strings.Builder
	switch shell {
	case "bash":
		bash(&b, name, &root)
	case "zsh":
		zsh(&b, name, &root)
	case "fish":
		fish(&b, name, &root)
	default:
		return fmt.Errorf("%q is no shell that completions are made for: %s", shell, strings.Join(Shells, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// single is a text in single quotes, as every one of the shells reads it.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// inFish is the same for fish, where a backslash counts within single quotes.
func inFish(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
}

// valued are the flags that a value follows, as they are written.
func (v *verb) valued() (out []string) {
	for _, f := range v.flags {
		if takesValue(f) {
			out = append(out, names(f)...)
		}
	}
	return out
}

func (v *verb) childNames() (out []string) {
	for i := range v.children {
		out = append(out, v.children[i].name())
	}
	return out
}

func bash(b *strings.Builder, name string, root *verb) {
	fmt.Fprintf(b, `# bash completion for %[1]s: source it, or put it into /usr/share/bash-completion/completions/%[1]s.
_%[1]s() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= word skip= i IFS=$'\n'
  COMPREPLY=()
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $skip ]]; then
      [[ $word == = ]] || skip=
      continue
    fi
    case "$path $word" in
`, name)
	root.all(func(v *verb) {
		if flags := v.valued(); len(flags) > 0 {
			fmt.Fprintf(b, "    %s) skip=1 ;;\n", patterns(v.path(), flags))
		}
		for i := range v.children {
			fmt.Fprintf(b, "    %s) path=%s ;;\n", single(v.path()+" "+v.children[i].name()), single(v.children[i].path()))
		}
	})
	b.WriteString("    esac\n  done\n  case \"$path $prev\" in\n")
	root.all(func(v *verb) {
		for _, f := range v.flags {
			if words := values(f.Value); takesValue(f) && words != nil {
				fmt.Fprintf(b, "  %s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", patterns(v.path(), names(f)), single(strings.Join(words, "\n")))
			}
		}
	})
	root.all(func(v *verb) {
		if flags := v.valued(); len(flags) > 0 {
			fmt.Fprintf(b, "  %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", patterns(v.path(), flags))
		}
	})
	b.WriteString("  esac\n  case \"$path\" in\n")
	root.all(func(v *verb) {
		flags := []string{"--help"}
		for _, f := range v.flags {
			flags = append(flags, names(f)...)
		}
		slices.Sort(flags)
		words, files := v.childNames(), false
		for _, a := range v.args {
			words = append(words, values(a)...)
			files = files || values(a) == nil
		}
		fmt.Fprintf(b, "  %s)\n    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W %s -- \"$cur\"))\n", single(v.path()), single(strings.Join(slices.Compact(flags), "\n")))
		fmt.Fprintf(b, "    else COMPREPLY=($(compgen -W %s -- \"$cur\")", single(strings.Join(words, "\n")))
		if files {
			b.WriteString(" $(compgen -f -- \"$cur\")")
		}
		b.WriteString("); fi ;;\n")
	})
	fmt.Fprintf(b, "  esac\n}\ncomplete -o filenames -F _%[1]s %[1]s\n", name)
}

// patterns are those of a case that has a verb's path and one of some words.
func patterns(path string, words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = single(path + " " + w)
	}
	return strings.Join(out, "|")
}

func zsh(b *strings.Builder, name string, root *verb) {
	fmt.Fprintf(b, `#compdef %[1]s
# zsh completion for %[1]s: put it as _%[1]s into a folder of $fpath, or source it after compinit.
`, name)
	root.all(func(v *verb) {
		fmt.Fprintf(b, "_%s() {\n", function(name, v))
		if len(v.children) > 0 {
			b.WriteString("  local context state state_descr line\n  typeset -A opt_args\n")
		}
		b.WriteString("  _arguments -S -C \\\n    '(- *)'{-h,--help}'[Show help.]'")
		for _, f := range v.flags {
			if f.Name != "help" {
				b.WriteString(" \\\n    " + zshFlag(f))
			}
		}
		switch {
		case len(v.children) > 0:
			b.WriteString(" \\\n    '1: :->verb' '*:: :->rest'\n  case $state in\n  verb)\n    local -a verbs=(")
			for i := range v.children {
				fmt.Fprintf(b, "\n      %s", single(strings.ReplaceAll(v.children[i].name(), ":", `\:`)+":"+firstSentence(v.children[i].help)))
			}
			b.WriteString("\n    )\n    _describe verb verbs")
			if len(v.args) > 0 {
				b.WriteString("\n    _files")
			}
			b.WriteString(" ;;\n  rest)\n    case $line[1] in\n")
			for i := range v.children {
				fmt.Fprintf(b, "    %s) _%s ;;\n", v.children[i].name(), function(name, &v.children[i]))
			}
			b.WriteString("    *) _files ;;\n    esac ;;\n  esac\n")
		case len(v.args) > 0:
			if words := values(v.args[0]); words != nil {
				fmt.Fprintf(b, " \\\n    %s\n", single("1: :("+strings.Join(words, " ")+")"))
			} else {
				b.WriteString(" \\\n    '*: :_files'\n")
			}
		default:
			b.WriteString("\n")
		}
		b.WriteString("}\n")
	})
	fmt.Fprintf(b, "if [[ ${funcstack[1]} == _%[1]s ]]; then _%[1]s \"$@\"; else compdef _%[1]s %[1]s; fi\n", name)
}

func function(name string, v *verb) string {
	return strings.Join(append([]string{name}, v.words...), "_")
}

func zshFlag(f *kong.Flag) string {
	says := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(firstSentence(f.Help))
	spec, value := "["+says+"]", ""
	if takesValue(f) {
		value = ":value:_files"
		if words := values(f.Value); words != nil {
			value = ":value:(" + strings.Join(words, " ") + ")"
		}
	}
	all := names(f)
	star := ""
	if f.IsCumulative() {
		star = "*"
	}
	out := make([]string, len(all))
	for i, n := range all {
		if value != "" && strings.HasPrefix(n, "--") {
			n += "="
		}
		out[i] = single(star + n + spec + value)
	}
	return strings.Join(out, " ")
}

func fish(b *strings.Builder, name string, root *verb) {
	fmt.Fprintf(b, `# fish completion for %[1]s: put it into ~/.config/fish/completions/%[1]s.fish.
function __%[1]s_path
    set -l words (commandline -opc)
    set -l path ''
    set -l skip ''
    for word in $words[2..-1]
        if test -n "$skip"
            set skip ''
            continue
        end
        switch "$path $word"
`, name)
	root.all(func(v *verb) {
		if flags := v.valued(); len(flags) > 0 {
			var cases []string
			for _, f := range flags {
				cases = append(cases, inFish(v.path()+" "+f))
			}
			fmt.Fprintf(b, "            case %s\n                set skip 1\n", strings.Join(cases, " "))
		}
		for i := range v.children {
			fmt.Fprintf(b, "            case %s\n                set path %s\n", inFish(v.path()+" "+v.children[i].name()), inFish(v.children[i].path()))
		}
	})
	fmt.Fprintf(b, `        end
    end
    test "$path" = "$argv[1]"
end
complete -c %[1]s -f -s h -l help -d 'Show help.'
`, name)
	root.all(func(v *verb) {
		at := fmt.Sprintf("complete -c %s -n %s", name, inFish("__"+name+"_path "+inFish(v.path())))
		for i := range v.children {
			fmt.Fprintf(b, "%s -f -a %s -d %s\n", at, inFish(v.children[i].name()), inFish(firstSentence(v.children[i].help)))
		}
		if len(v.args) > 0 {
			if words := values(v.args[0]); words != nil {
				fmt.Fprintf(b, "%s -f -a %s\n", at, inFish(strings.Join(words, " ")))
			} else {
				fmt.Fprintf(b, "%s -F\n", at)
			}
		}
		for _, f := range v.flags {
			if f.Name == "help" {
				continue
			}
			fmt.Fprintf(b, "%s -l %s", at, f.Name)
			if f.Short != 0 {
				fmt.Fprintf(b, " -s %c", f.Short)
			}
			switch words := values(f.Value); {
			case !takesValue(f):
			case words != nil:
				fmt.Fprintf(b, " -x -a %s", inFish(strings.Join(words, " ")))
			default:
				b.WriteString(" -r -F")
			}
			fmt.Fprintf(b, " -d %s\n", inFish(firstSentence(f.Help)))
		}
	})
}
