package snapshot_test

import (
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestViewServesGatewayKinds(t *testing.T) {
	meta := func(kind, name string) snapshot.Meta {
		return snapshot.Meta{Group: snapshot.GatewayGroup, Kind: kind, Namespace: "team-a", Name: name}
	}
	var b snapshot.Builder
	for range 2 { // read twice, as after an expired list
		b.Add(snapshot.Facts{
			Gateways:     []snapshot.Gateway{{Meta: meta("Gateway", "b")}, {Meta: meta("Gateway", "a")}},
			ListenerSets: []snapshot.ListenerSet{{Meta: meta("XListenerSet", "s")}, {Meta: meta("ListenerSet", "s")}},
			Routes:       []snapshot.Route{{Meta: meta("TLSRoute", "r")}, {Meta: meta("HTTPRoute", "r")}, {Meta: meta("GRPCRoute", "r")}},
		})
	}
	s := b.Freeze()
	for _, c := range []struct {
		name  string
		kinds []snapshot.Kind
		read  func(*snapshot.View) []string
		want  []string
	}{
		{
			"gateways",
			[]snapshot.Kind{snapshot.Gateways},
			func(v *snapshot.View) []string {
				return names(v.Gateways(), func(o *snapshot.Gateway) *snapshot.Meta { return &o.Meta })
			},
			[]string{"Gateway team-a/a", "Gateway team-a/b"},
		}, {
			"listener sets of both groups",
			[]snapshot.Kind{snapshot.ListenerSets, snapshot.XListenerSets},
			func(v *snapshot.View) []string {
				return names(v.ListenerSets(), func(o *snapshot.ListenerSet) *snapshot.Meta { return &o.Meta })
			},
			[]string{"ListenerSet team-a/s", "XListenerSet team-a/s"},
		}, {
			"routes of all kinds",
			[]snapshot.Kind{snapshot.GRPCRoutes, snapshot.HTTPRoutes, snapshot.TLSRoutes},
			func(v *snapshot.View) []string {
				return names(v.Routes(), func(o *snapshot.Route) *snapshot.Meta { return &o.Meta })
			},
			[]string{"GRPCRoute team-a/r", "HTTPRoute team-a/r", "TLSRoute team-a/r"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.View(c.kinds...)
			if diff := cmp.Diff(c.want, c.read(v)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.kinds, v.Asked()); diff != "" {
				t.Errorf("kinds asked for (-want +got):\n%s", diff)
			}
		})
	}
}

func names[F any](facts iter.Seq[*F], meta func(*F) *snapshot.Meta) []string {
	var out []string
	for f := range facts {
		out = append(out, meta(f).Ref().String())
	}
	return out
}
