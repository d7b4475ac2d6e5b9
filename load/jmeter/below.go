package jmeter

import (
	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// belowSampler reads what is below a sampler: the steps before its timers, and those
// after its response.
func (j *reader) belowSampler(e *element, env elementScope) (ahead, behind []plan.Step) {
	for _, p := range env.ahead {
		ahead = append(ahead, plan.Step{Action: j.scriptAction(p, e)})
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

// logins reads the names and passwords of the managers around a sampler. The innermost
// manager counts.
func (j *reader) logins(managers []*element) []plan.Login {
	if len(managers) == 0 {
		return nil
	}
	e := managers[len(managers)-1]
	j.refuseOthers(e, "AuthManager.auth_list", "AuthManager.controlledByThreadGroup", "AuthManager.clearEachIteration")
	list := e.prop("AuthManager.auth_list")
	if list == nil {
		return nil
	}
	out := []plan.Login{}
	for _, a := range list.children {
		switch mechanism := j.fixed(a, "Authorization.mechanism"); mechanism {
		case "", "BASIC", "BASIC_DIGEST":
		default:
			panic(a.where("Authorization.mechanism").Errorf(whittle.Unsupported, "the mechanism %s is not supported: BASIC is", mechanism))
		}
		text := func(name string) expr.Template { return j.text(a, "Authorization."+name) }
		out = append(out, plan.Login{URL: text("url"), User: text("username"), Password: text("password")})
	}
	return out
}
