package plan

import (
	"whittle/load/expr"
)

// Payload is a CSV file whose rows are assigned to virtual users.
type Payload struct {
	Slots    []int // of the fields, in column order
	Rows     [][]expr.Value
	Sequence bool // row i mod n for user i, of a closed plan for the ith round of any; else at random
}

// Bounds on a CSV file.
const (
	MaxFileBytes = 64 << 20
	MaxRows      = 1_000_000
)
