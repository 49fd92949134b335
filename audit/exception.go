package audit

import (
	"fmt"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
)

// ExceptionUse is how one exception of the config was used in one sweep.
type ExceptionUse struct {
	Exception config.Exception
	Expired   bool // it hid nothing, whatever it matches
	Unused    bool // in force, and hid nothing although its rule ran
	Hidden    int  // findings that it hid
}

// exceptionUses are the uses of the exceptions of a config, in its order.
type exceptionUses []ExceptionUse

func newExceptionUses(c *config.Config, now time.Time) exceptionUses {
	uses := make(exceptionUses, len(c.Exceptions))
	for i, x := range c.Exceptions {
		uses[i] = ExceptionUse{Exception: x, Expired: x.Expires.Passed(now)}
	}
	return uses
}

// hide reports whether an exception in force hides the finding, and counts it. Each
// that matches counts, so that of two that overlap neither is reported as unused.
func (uses exceptionUses) hide(f Finding) bool {
	hidden := false
	for i := range uses {
		if u := &uses[i]; !u.Expired && u.Exception.Matches(f.Rule, f.Subject) {
			u.Hidden++
			hidden = true
		}
	}
	return hidden
}

// markUnused marks the exceptions in force that hid nothing. That means something
// only if the rule ran.
func (uses exceptionUses) markUnused(ran map[string]bool) {
	for i := range uses {
		u := &uses[i]
		u.Unused = !u.Expired && u.Hidden == 0 && ran[u.Exception.Rule]
	}
}

// advisories reports the exceptions that have expired and those that hid nothing.
func (uses exceptionUses) advisories() []Advisory {
	var out []Advisory
	for _, u := range uses {
		x := u.Exception
		var why string
		switch {
		case u.Expired:
			why = "has expired and no longer hides anything: renew or remove it"
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
