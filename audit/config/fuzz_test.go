package config_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
)

// Whatever the file holds, it gives a config or errors that name it, each on
// one printable line, and the same ones when it is read again.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		for _, path := range files(f, pattern) {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, seed := range []string{
		"\xef\xbb\xbfcluster: a\n", "a: &a [*a]\n", "%YAML 1.1\n---\n{}\n", "? ? ? a\n", "- - - - a\n", "<<: {<<: {}}\n",
		"a: |+\n\n\n", "{,}", "!!map {}", "---\n---\n---\n", "cluster: \"\\u202e\\x1b[31m\"\n", "rules: {? {} : {}}\n",
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse(data, "c.yaml", ruleSet())
		again, err2 := config.Parse(data, "c.yaml", ruleSet())
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("the same file gives another config (-first +second):\n%s", diff)
		}
		if err != nil {
			if err2 == nil || err.Error() != err2.Error() {
				t.Errorf("the same file gives other errors:\n%v\n\n%v", err, err2)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != len(each(t, err)) {
				t.Errorf("%d errors on %d lines:\n%v", len(each(t, err)), len(lines), err)
			}
			last := 0
			for _, e := range each(t, err) {
				if !strings.HasPrefix(e.Error(), "c.yaml:") || e.At.Line < last || strings.ContainsAny(e.Error(), "\x1b\r\u202e") {
					t.Errorf("error without a place, out of order or not printable: %q", e)
				}
				last = e.At.Line
			}
			return
		}
		c.Expired(now)
		for i := range c.Owners.Teams {
			q := c.Owners.Teams[i].QuietHours
			if end := q.End(now); q.Quiet(now) && (!end.After(now) || q.Quiet(end)) {
				t.Errorf("quiet hours %+v of %s end %s", q, now, end)
			}
		}
		if from := c.Slack.ChannelFrom; (from.NamespaceAnnotation == "") != (len(from.Allow) == 0) {
			t.Errorf("half of a channel's source was taken: %+v", from)
		}
		if (c.Webhook.URL == "") != (c.Webhook.SecretFile == "") {
			t.Errorf("half of a webhook was taken: %+v", c.Webhook)
		}
		for _, r := range ruleSet() {
			c.Settings(r).Exempt("a")
			for i := range c.Exceptions {
				c.Exceptions[i].Matches(r.Name, rules.Subject{Kind: r.Subject, Name: "a"})
			}
		}
	})
}
