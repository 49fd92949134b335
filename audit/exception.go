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
func (e *evaluator) exceptions() []ExceptionUse {
	for i := range e.uses {
		e.uses[i].Exception = e.config.Exceptions[i]
		e.uses[i].Expired = e.config.Exceptions[i].Expires.Passed(e.now)
	}
	return e.uses
}

// exceptionAdvisories names the exceptions that have expired and those that hid
// nothing. That one hid nothing says something only if its rule ran.
func exceptionAdvisories(uses []ExceptionUse, outcomes []Outcome) []Advisory {
	ran := map[string]bool{}
	for _, o := range outcomes {
		ran[o.Rule] = o.Status == Ran
	}
	var out []Advisory
	for _, u := range uses {
		x := u.Exception
		var why string
		switch {
		case u.Expired:
			why = "has expired and hides nothing any more: renew or remove it"
		case u.Hidden == 0 && ran[x.Rule]:
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
