package ingest

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// labelSet returns the labels of the map, kept once, because the pods of a workload share
// theirs. Their keys and values are interned, because most workloads share some.
func (in *Ingester) labelSet(m map[string]string) snapshot.Labels {
	if len(m) == 0 {
		return snapshot.Labels{}
	}
	l := snapshot.NewLabels(m)
	in.key = l.AppendKey(in.key[:0])
	if kept, ok := in.labels[string(in.key)]; ok {
		return kept
	}
	in.fresh += l.Len()
	l = l.Map(in.intern)
	in.remember(len(in.key))
	in.labels[string(in.key)] = l
	return l
}

// selector returns a label selector. Both nil and an empty one match everything.
func (in *Ingester) selector(s *metav1.LabelSelector) (snapshot.Selector, error) {
	if s == nil {
		return nil, nil
	}
	var out snapshot.Selector
	for key, value := range s.MatchLabels {
		out = append(out, snapshot.Requirement{Key: in.intern(key), Op: snapshot.In, Values: []string{in.intern(value)}})
	}
	for _, e := range s.MatchExpressions {
		r := snapshot.Requirement{Key: in.intern(e.Key), Op: snapshot.Operator(e.Operator)}
		switch r.Op {
		case snapshot.In, snapshot.NotIn:
			if len(e.Values) == 0 {
				return nil, fmt.Errorf("%s %s has no values", e.Key, e.Operator)
			}
			r.Values = slices.Sorted(slices.Values(e.Values))
		case snapshot.Exists, snapshot.DoesNotExist:
			if len(e.Values) > 0 {
				return nil, fmt.Errorf("%s %s has values", e.Key, e.Operator)
			}
		default:
			return nil, fmt.Errorf("%s has the unknown operator %q", e.Key, e.Operator)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b snapshot.Requirement) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// selectsAll reports whether a label selector matches everything.
func selectsAll(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}
