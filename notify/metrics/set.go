package metrics

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// set is where the metrics of one sweep are put. Each sweep has its own, so that
// nothing of an earlier one is left in it.
type set struct{ to prometheus.Registerer }

// value adds a metric without labels.
func (s set) value(name, help string, value float64) {
	s.values(name, help, nil, map[key]float64{{}: value})
}

// key are the values of at most three labels.
type key [3]string

// values adds a metric with a series for each key.
func (s set) values(name, help string, labels []string, series map[key]float64) {
	vector := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	for k, value := range series {
		vector.WithLabelValues(k[:len(labels)]...).Set(value)
	}
	// A registry is made for one sweep, so a name that is there twice is a fault
	// of this package, which its tests would find.
	s.to.MustRegister(vector)
}

// seconds is a time as Prometheus wants it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// lower is a word of another package as a value of a label.
func lower[T ~string](word T) string { return strings.ToLower(string(word)) }

// keep sets a key to a value if it has none yet, or a greater one.
func keep(series map[key]float64, k key, value float64) {
	if old, ok := series[k]; !ok || value < old {
		series[k] = value
	}
}

// quantile returns the smallest value of a list that the given part of the list
// does not exceed. The list must not be empty.
func quantile(list []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(math.Ceil(part*float64(len(sorted))))-1]
}

// sortedKeys are the keys of a map, sorted.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
