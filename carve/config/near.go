package config

import (
	"errors"
	"fmt"
	"strings"
)

// closest gives the word that was probably meant, or "": the one at the
// smallest edit distance, where that is at most a third of what was written.
func closest(s string, words []string) string {
	if len(s) > 64 {
		return ""
	}
	best, found := len(s)/3+1, ""
	for _, w := range words {
		if d := distance(strings.ToLower(s), strings.ToLower(w)); d < best || d == best && found == "" && d <= len(s)/3 {
			best, found = d, w
		}
	}
	return found
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words (Damerau's restricted edit distance).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// expand replaces ${NAME} by an environment variable, ${NAME:-text} by text
// where that is unset or empty, and $${ by ${.
func expand(s string, env func(string) (string, bool)) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return "", errors.New("${ is not closed; write ${NAME}, or $${ for the signs themselves")
		}
		name, fallback, hasFallback := strings.Cut(s[i+2:i+end], ":-")
		if !isVariable(name) {
			return "", fmt.Errorf("%s is not the name of an environment variable; write ${NAME}, or $${ for the signs themselves", quote(name))
		}
		v, _ := env(name)
		if v == "" {
			if !hasFallback {
				return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
			}
			v = fallback
		}
		b.WriteString(s[:i] + v)
		s = s[i+end+1:]
	}
}

func isVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		return false
	}
	return s != ""
}
