package plan

import (
	"whittle/load/expr"
)

// Threshold is one bound of config.ensure: on one metric, or a condition over
// several.
type Threshold struct {
	Metric    string
	Max       float64
	Condition expr.Condition // nil for a metric's bound
	Text      string         // of the condition
	Optional  bool           // it is shown, and does not fail the run
}
