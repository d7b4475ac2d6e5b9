package rank

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/plan"
)

// Plan asks for some endpoints alike, as an Artillery plan would.
func Plan(target string, endpoints []string, rate float64, length time.Duration) (*plan.Plan, error) {
	var scenarios []any
	for _, e := range endpoints {
		method, rest, ok := strings.Cut(strings.TrimSpace(e), " ")
		path, body, _ := strings.Cut(strings.TrimSpace(rest), " ")
		method = strings.ToLower(method)
		if !ok || !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method) || !strings.HasPrefix(path, "/") {
			return nil, whittle.Errorf(whittle.Invalid, "find: %q is no endpoint: write \"GET /path\", or \"POST /path JSON\"", e)
		}
		request := map[string]any{"url": path, "name": strings.ToUpper(method) + " " + path}
		if body = strings.TrimSpace(body); body != "" {
			if !json.Valid([]byte(body)) {
				return nil, whittle.Errorf(whittle.Invalid, "find: %s %s: %q is not JSON", method, path, body)
			}
			request["body"], request["headers"] = body, map[string]string{"content-type": "application/json"}
		}
		scenarios = append(scenarios, map[string]any{"flow": []any{map[string]any{method: request}}})
	}
	text, err := json.Marshal(map[string]any{
		"config": map[string]any{"target": target, "phases": []any{map[string]any{
			"duration": strconv.FormatFloat(length.Seconds(), 'f', -1, 64) + "s", "arrivalRate": rate,
		}}},
		"scenarios": scenarios,
	})
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "find: %w", err)
	}
	return load.Parse("--endpoint", text, plan.Source{})
}
