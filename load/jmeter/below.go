package jmeter

import (
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// belowSampler reads what is below a sampler: the steps before its timers, and those
// after its response.
func (j *reader) belowSampler(e *element, env elementScope) (ahead, behind []plan.Step) {
	for _, p := range env.ahead {
		if a := j.preProcessor(p, e); a != nil {
			ahead = append(ahead, plan.Step{Action: a})
		}
	}
	for _, c := range e.below {
		if c.name == "ResultAction" {
			behind = append(behind, plan.Step{Action: j.resultAction(c)})
			continue
		}
		if !j.readByScope(c) {
			panic(j.refuse(c))
		}
	}
	return ahead, behind
}

// preProcessor reads what is done before a sampler. Nil: it is done elsewhere.
func (j *reader) preProcessor(e, sampler *element) plan.Action {
	switch e.name {
	case "UserParameters":
		// One for all samplers in its scope, so that its counters count on from one to the next.
		if j.shared[e] == nil {
			j.shared[e] = j.userParameters(e)
		}
		return j.shared[e]
	}
	if isScript(e.name) {
		return j.scriptAction(e, sampler)
	}
	panic(j.refuse(e))
}

// resultAction reads what a user does where a sampler has failed.
func (j *reader) resultAction(e *element) plan.Action {
	j.refuseOthers(e, "OnError.action")
	kind := j.fixed(e.tag, "OnError.action")
	end := map[string]func(plan.User) bool{
		"1": stopUser, "2": stopTest, "3": stopNow, "4": restart, "5": nextOfLoop, "6": breakLoop,
	}[kind]
	return does(func(u plan.User) bool { return end == nil || !u.Failed() || end(u) })
}

// The ways in which a user's steps end; all report false.
func stopUser(u plan.User) bool   { u.Stop(); return false }
func stopTest(u plan.User) bool   { u.StopAll(false); return stopUser(u) }
func stopNow(u plan.User) bool    { u.StopAll(true); return stopUser(u) }
func restart(plan.User) bool      { return false }
func nextOfLoop(u plan.User) bool { return leave(u, nextRound) }
func breakLoop(u plan.User) bool  { return leave(u, breaks) }

// userParameters gives each user values of its own, of the first list to the first user.
func (j *reader) userParameters(e *element) plan.Action {
	j.refuseOthers(e, "UserParameters.names", "UserParameters.thread_values", "UserParameters.per_iteration")
	names, lists := e.prop("UserParameters.names"), e.prop("UserParameters.thread_values")
	if names == nil || lists == nil || len(lists.children) == 0 {
		return does(func(plan.User) bool { return true })
	}
	var slots []int
	for _, n := range names.children {
		slots = append(slots, j.Define(strings.TrimSpace(n.text)))
	}
	var values [][]expr.Template
	for _, list := range lists.children {
		var own []expr.Template
		for _, v := range list.children {
			own = append(own, j.compile(v.at, v.text, expr.AsText))
		}
		values = append(values, own)
	}
	once := e.is("UserParameters.per_iteration")
	return does(func(u plan.User) bool {
		if once {
			if at := userState[groupRound](u, e); at.loop == u.Loop()+1 {
				return true
			} else {
				at.loop = u.Loop() + 1
			}
		}
		s := u.Scope()
		own := values[u.Number()%len(values)]
		for i, slot := range slots[:min(len(slots), len(own))] {
			s.Values[slot] = expr.TextValue(own[i].Text(s))
		}
		return true
	})
}

// login reads the names and passwords of the managers around a sampler, of which the
// innermost counts.
func (j *reader) login(managers []*element) *plan.Login {
	if len(managers) == 0 {
		return nil
	}
	e := managers[len(managers)-1]
	j.refuseOthers(e, "AuthManager.auth_list", "AuthManager.controlledByThreadGroup", "AuthManager.clearEachIteration")
	list := e.prop("AuthManager.auth_list")
	if list == nil {
		return nil
	}
	out := &plan.Login{}
	for _, a := range list.children {
		switch mechanism := j.fixed(a, "Authorization.mechanism"); mechanism {
		case "", "BASIC", "BASIC_DIGEST":
		default:
			panic(a.where("Authorization.mechanism").Errorf(whittle.Unsupported, "the mechanism %s is not supported: BASIC is", mechanism))
		}
		text := func(name string) expr.Template {
			return j.text(a, "Authorization."+name)
		}
		out.Entries = append(out.Entries, plan.LoginEntry{
			URL: text("url"), User: text("username"), Password: text("password"),
		})
	}
	return out
}
