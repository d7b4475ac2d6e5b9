package foreign

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/profile"
)

// readCollapsed reads lines such as "main;work;sum 12": a stack, the root first, and
// how many samples it had.
func readCollapsed(text []byte) (*profile.Profile, error) {
	b := newBuilder()
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		space := bytes.LastIndexByte(line, ' ')
		count, err := strconv.ParseInt(string(line[space+1:]), 10, 64)
		if err == nil && space < 0 { // a thread without frames, as py-spy writes it
			continue
		}
		if space <= 0 || err != nil || count < 0 || count > maxTotal/int64(perSample) {
			return nil, whittle.Errorf(whittle.Invalid, "read collapsed stacks: line %d is not \"outer;inner COUNT\"", n).
				WithHint(formats)
		}
		parts := strings.Split(pythonThread.ReplaceAllString(string(line[:space]), ""), ";")
		stack := make([]frame, 0, min(len(parts), profile.MaxDepth))
		for _, part := range slices.Backward(parts) {
			if len(stack) < profile.MaxDepth && part != "" {
				stack = append(stack, named(part))
			}
		}
		if err := b.add(withinLoop(stack), count*int64(perSample), count, -1); err != nil {
			return nil, err
		}
	}
	return b.done("collapsed stacks")
}
