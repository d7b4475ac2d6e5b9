package event

// Parse reads a body with a Parser of its own.
func Parse(l Limits, c Call, body []byte) (Batch, error) {
	return new(Parser).Parse(l, c, body)
}
