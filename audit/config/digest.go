package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"
)

// Digest identifies what a config makes of a cluster: which findings there are, and who
// is notified where. Two configs that differ only in their comments, in where a secret
// or the metrics are, or in the name of the cluster have the same one.
func (c *Config) Digest() string {
	same := *c
	same.Cluster, same.Slack.TokenFile, same.Webhook.SecretFile, same.Pushgateway = "", "", "", Pushgateway{}
	h := sha256.New()
	writeValue(h, reflect.ValueOf(same))
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// writeValue writes a value of a config, so that different values are written
// differently.
func writeValue(w io.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		switch v := v.Interface().(type) {
		case TimeZone:
			fmt.Fprintf(w, "%q;", v.Location())
			return
		case time.Time:
			fmt.Fprintf(w, "%d;", v.Unix())
			return
		case HostExpression:
			fmt.Fprintf(w, "%q;", v)
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("yaml") != "-" {
				fmt.Fprintf(w, "%s:", f.Name)
				writeValue(w, v.Field(i))
			}
		}
		fmt.Fprint(w, "}")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			fmt.Fprint(w, "nil;")
			return
		}
		writeValue(w, v.Elem())
	case reflect.Slice, reflect.Array:
		// Without a list, a default counts, which an empty list is not.
		if v.Kind() == reflect.Slice && v.IsNil() {
			fmt.Fprint(w, "nil;")
			return
		}
		fmt.Fprintf(w, "%d[", v.Len())
		for i := range v.Len() {
			writeValue(w, v.Index(i))
		}
	case reflect.Map:
		fmt.Fprintf(w, "%d[", v.Len())
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }) {
			fmt.Fprintf(w, "%q:", k.String())
			writeValue(w, v.MapIndex(k))
		}
	default:
		fmt.Fprintf(w, "%q;", fmt.Sprint(v))
	}
}
