package hosts

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// everything is what a claim without lanes takes.
func everything() []snapshot.Lane { return []snapshot.Lane{{}} }

// lanesMeet compares each lane of one claim with each of another.
func lanesMeet(a, b []snapshot.Lane) bool {
	if len(a) == 0 {
		a = everything()
	}
	if len(b) == 0 {
		b = everything()
	}
	return slices.ContainsFunc(a, func(x snapshot.Lane) bool {
		return slices.ContainsFunc(b, func(y snapshot.Lane) bool {
			return (x.Port == 0 || y.Port == 0 || x.Port == y.Port) &&
				(strings.HasPrefix(x.Prefix, y.Prefix) || strings.HasPrefix(y.Prefix, x.Prefix))
		})
	})
}

func TestMeetingComparesEveryLaneWithEveryOther(t *testing.T) {
	met, apart := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var list []*claim
		for range rapid.IntRange(0, 7).Draw(t, "claims") {
			c := &claim{owner: &rules.Owner{Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner")}}
			for range rapid.IntRange(0, 3).Draw(t, "lanes") {
				c.take(snapshot.Lane{
					Port:   rapid.SampledFrom([]int32{0, 0, 80, 443}).Draw(t, "port"),
					Prefix: rapid.SampledFrom([]string{"", "/", "/a", "/a/", "/a/b", "/ab", "/a\x00", "/b", "/b/c", "x"}).Draw(t, "prefix"),
				})
			}
			list = append(list, c)
		}
		var want []bool
		for _, c := range list {
			want = append(want, slices.ContainsFunc(list, func(o *claim) bool { return !o.owner.Is(*c.owner) && lanesMeet(c.lanes, o.lanes) }))
		}
		found := meeting(list, verifiedID)
		var got []bool
		for _, c := range list {
			got = append(got, slices.Contains(found, c))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("meeting (-want +got):\n%s", diff)
		}
		for _, w := range want {
			if w {
				met++
			} else {
				apart++
			}
		}
	})
	if met == 0 || apart == 0 {
		t.Errorf("%d claims met another and %d did not: one of the two was never tried", met, apart)
	}
}

// Lanes are compared along the path of their prefixes and not with each other, so many
// claims, and a long chain of prefixes, are no problem.
func TestMeetingOfManyLanes(t *testing.T) {
	var list []*claim
	for i := range 3000 {
		c := &claim{owner: &rules.Owner{Name: string(rune('a' + i%3))}}
		c.take(snapshot.Lane{Port: int32(i%5) + 1, Prefix: strings.Repeat("a", i) + snapshot.EndOfLane})
		c.take(snapshot.Lane{Prefix: strings.Repeat("a", i) + "b"})
		c.take(snapshot.Lane{Port: 9, Prefix: strings.Repeat("c", i)})
		list = append(list, c)
	}
	if got := len(meeting(list, verifiedID)); got != len(list) {
		t.Errorf("%d of %d claims meet another", got, len(list))
	}
}

func TestClaimNamesItsPorts(t *testing.T) {
	for _, c := range []struct {
		name  string
		lanes []snapshot.Lane
		want  string
	}{
		{"no lanes", nil, ""},
		{"every port", []snapshot.Lane{{Prefix: "/"}}, ""},
		{"one port", []snapshot.Lane{{Port: 80}, {Port: 80, Prefix: "/"}}, "port 80"},
		{"several ports", []snapshot.Lane{{Port: 443}, {Port: 80}}, "ports 80, 443"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (&claim{lanes: c.lanes}).ports(); got != c.want {
				t.Errorf("ports %q, want %q", got, c.want)
			}
		})
	}
}
