package audit

import (
	"fmt"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
)

// ExceptionUse is what became of one exception of the config in one sweep.
type ExceptionUse struct {
	Exception config.Exception
	Expired   bool // it hid nothing, whatever it matches
	Unused    bool // in force, and hid nothing although its rule ran
	Hidden    int  // findings that it hid
}

// excepted reports whether an exception in force hides the finding, and counts
// it.
func (e *evaluator) excepted(f Finding) bool {
	hidden := false
	for i := range e.config.Exceptions {
		x := &e.config.Exceptions[i]
		if x.Expires.Passed(e.now) || !x.Matches(f.Rule, f.Subject) {
			continue
		}
		// Each that matches is used, so that none of two that overlap is called
		// unused.
		e.uses[i].Hidden++
		hidden = true
	}
	return hidden
}

// exceptions returns what became of each exception, in the order of the config.
// That one hid nothing says something only if its rule ran.
func (e *evaluator) exceptions(outcomes []Outcome) []ExceptionUse {
	ran := map[string]bool{}
	for _, o := range outcomes {
		ran[o.Rule] = o.Status == RuleRan
	}
	for i := range e.uses {
		u := &e.uses[i]
		u.Exception = e.config.Exceptions[i]
		u.Expired = u.Exception.Expires.Passed(e.now)
		u.Unused = !u.Expired && u.Hidden == 0 && ran[u.Exception.Rule]
	}
	return e.uses
}

// exceptionAdvisories names the exceptions that have expired and those that hid
// nothing.
func exceptionAdvisories(uses []ExceptionUse) []Advisory {
	var out []Advisory
	for _, u := range uses {
		x := u.Exception
		var why string
		switch {
		case u.Expired:
			why = "has expired and hides nothing any more: renew or remove it"
		case u.Unused:
			why = "hides nothing: remove it"
		default:
			continue
		}
		out = append(out, Advisory{
			Rule:    "config",
			Subject: rules.Subject{Kind: "Exception", Name: x.Rule, Detail: x.At.Path},
			Message: fmt.Sprintf("the exception (%s, until %s) %s", x.Reason, x.Expires, why),
		})
	}
	return out
}
