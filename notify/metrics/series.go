package metrics

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// LabelValues holds the label values that are allowed beside the words of the
// program. They must not come from the cluster.
type LabelValues struct {
	Rules   []string        // the names of all rules
	Owners  []string        // of the registry; those beyond maxOwnerSeries become "other"
	Kinds   []snapshot.Kind // that are read
	Version string          // of the program
}

// Limits on the series whose number grows with the config. They keep all metrics
// together below 500 series.
const (
	maxOwnerSeries = 200 // by rule and owner
	maxKinds       = 70
	maxSenders     = 5
)

// other is the label value of everything that is not allowed by name.
const other = "other"

// allowed are the values that one label may have.
type allowed map[string]bool

// allow allows the first values of a list.
func allow(list []string, limit int) allowed {
	a := allowed{}
	for _, value := range list {
		if len(a) < limit {
			a[strings.ToValidUTF8(value, "?")] = true
		}
	}
	return a
}

// of returns the value if it is allowed, and other if not.
func (a allowed) of(value string) string {
	if a[value] {
		return value
	}
	return other
}

func (v *LabelValues) rules() allowed { return allow(v.Rules, len(v.Rules)) }

func (v *LabelValues) owners() allowed {
	return allow(v.Owners, max(1, maxOwnerSeries/max(1, len(v.Rules)+1)-1))
}

func (v *LabelValues) kinds() allowed {
	list := make([]string, len(v.Kinds))
	for i, k := range v.Kinds {
		list[i] = string(k)
	}
	return allow(list, maxKinds)
}

// set adds the metrics of one sweep to a registry. Each sweep has its own registry,
// so that no series of an earlier sweep remains.
type set struct{ to prometheus.Registerer }

// value adds a metric without labels.
func (s set) value(name, help string, value float64) {
	s.values(name, help, nil, map[key]float64{{}: value})
}

// key holds the values of at most three labels.
type key [3]string

// values adds a metric with a series for each key.
func (s set) values(name, help string, labels []string, series map[key]float64) {
	vector := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	for k, value := range series {
		vector.WithLabelValues(k[:len(labels)]...).Set(value)
	}
	// The registry is new, so a duplicate name is a bug in this package that its
	// tests find.
	s.to.MustRegister(vector)
}

// seconds returns a time as a Unix timestamp.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// lower returns a constant of another package as a label value.
func lower[T ~string](word T) string { return strings.ToLower(string(word)) }

// keepLeast sets a key to a value unless it has a smaller one.
func keepLeast(series map[key]float64, k key, value float64) {
	if old, ok := series[k]; !ok || value < old {
		series[k] = value
	}
}

// quantile returns the q-quantile of a list by the nearest-rank method. The list must
// not be empty.
func quantile(list []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}
