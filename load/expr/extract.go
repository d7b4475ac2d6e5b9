package expr

// Extractor finds a value. False: it is not there.
type Extractor func(*Response) (Value, bool)

// Extraction describes the expression of a capture.
type Extraction struct {
	From string // json, regexp, header, or selector
	// Group and flags are a regexp's: a group's number or name, empty for the
	// whole match, and JavaScript's flags.
	Group, Flags string
	// Attr is the attribute that a selector takes; index is a number from 0, last or
	// random, empty for the first.
	Attr, Index string
}

// CompileExtractor reads an expression.
func CompileExtractor(x Extraction, expr string) (Extractor, error) {
	switch x.From {
	case "json":
		path, err := CompilePath(expr)
		return func(a *Response) (Value, bool) { return path.pick(a) }, err
	case "header":
		return func(a *Response) (Value, bool) {
			v := a.Header(expr)
			return TextValue(v), v != ""
		}, nil
	case "regexp":
		return compileRegexp(expr, x.Flags, x.Group)
	}
	return compileSelector(expr, x.Attr, x.Index)
}

func compileRegexp(expr, flags, group string) (Extractor, error) {
	rx, err := CompileAnyPattern(expr, flags)
	if err != nil {
		return nil, err
	}
	taken, err := rx.group(group)
	return func(a *Response) (Value, bool) {
		text, whole := a.BodyText()
		if !whole {
			return Value{}, false
		}
		found := rx.FindAll(text, 1)
		if len(found) == 0 || found[0][2*taken] < 0 {
			return Value{}, false
		}
		return capturedText(text[found[0][2*taken]:found[0][2*taken+1]])
	}, err
}

// capturedText makes a value of a piece of a body, which it does not keep
// alive. An empty one counts as absent, as in Artillery.
func capturedText(s string) (Value, bool) {
	if s == "" || len(s) > MaxCaptured {
		return Value{}, false
	}
	return TextValue(string([]byte(s))), true
}

// pick gives what the path leads to, one at random of several, as Artillery
// does.
func (p JSONPath) pick(a *Response) (Value, bool) {
	doc := a.JSON()
	if doc == nil || doc.Kind != KindList && doc.Kind != KindMap {
		return Value{}, false
	}
	found := p.Find(doc)
	if len(found) == 0 {
		return Value{}, false
	}
	d := found[0]
	if len(found) > 1 {
		d = found[a.Scope.RNG.IntN(len(found))]
	}
	if len(d.raw) > MaxCaptured {
		return Value{}, false
	}
	v := d.copied()
	return v, v.Text != "" || d.Kind != KindString
}
