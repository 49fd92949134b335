package hosts

import (
	"testing"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestCulpritIsTheLaterClaimantOrTheOneWithoutAnOwner(t *testing.T) {
	at := func(hours int) time.Time { return time.Date(2027, 1, 15, hours, 0, 0, 0, time.UTC) }
	made := func(namespace, owner string, created, set time.Time) *claim {
		return &claim{
			host: "shop.example.com", object: &snapshot.Meta{Kind: "Ingress", Namespace: namespace, Name: "web", Created: created},
			owner: &rules.Owner{Name: owner, Namespace: namespace}, set: set,
		}
	}
	victim := made("victim", "team-a", at(5), at(5))
	for _, c := range []struct {
		name string
		list []*claim
		want string
	}{
		{"created later", []*claim{made("thief", "team-b", at(6), at(6)), victim}, "thief"},
		{"created earlier, and the host was added later", []*claim{made("thief", "team-b", at(1), at(9)), victim}, "thief"},
		{"the time at which the host was added is not believed where it is before the object", []*claim{made("thief", "team-b", at(6), at(2)), victim}, "thief"},
		{"nobody owns it, although it is older", []*claim{made("nobody", "", at(1), at(1)), victim}, "nobody"},
		{"a third one", []*claim{made("third", "team-c", at(8), at(8)), made("thief", "team-b", at(6), at(6)), victim}, "thief"},
		{"ages are unknown", []*claim{made("a", "team-b", time.Time{}, time.Time{}), made("b", "team-a", time.Time{}, time.Time{})}, "b"},
	} {
		if got := culprit(c.list); got != c.want {
			t.Errorf("%s: the culprit is %s, want %s", c.name, got, c.want)
		}
	}
}
