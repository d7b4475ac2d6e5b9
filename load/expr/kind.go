package expr

// Kind is what sort of value something is, in JSON, YAML and conditions.
type Kind uint8

// The kinds of values; what is missing is of KindNull too.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindList
	KindMap
)

func (k Kind) String() string {
	return [...]string{"nothing", "a boolean", "a number", "a text", "a list", "a mapping"}[k]
}
