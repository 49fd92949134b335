package slack_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
	"github.com/eventuallytrue/audit/rules"
)

// harm returns more text that abuses Slack's markup or misleads a reader.
func harm() []string {
	return append(attacks(),
		"<!everyone|x>", "<!date^0^{date}^https://evil.example|x>", "<mailto:a@evil.example|b>", "<tel:1|2>", "<", ">", "&", "&#60;!channel&#62;",
		"``` `", "_", "~", "\u2066a\u2069", "\u061c", "\ufeff", "\u2028\u2029", "\U000e0041", "a\u0000b", strings.Repeat("\u202e", 253), strings.Repeat("`", 253),
		strings.Repeat("<!channel>", 25), strings.Repeat("日", 253), "🔴 Host `x`: all is well", "Resolved", " ", "\u00a0", "… and 3 more: see the thread.",
	)
}

// attack is a finding in which all text from the cluster is s.
func attack(s string, owners ...string) audit.Record {
	r := host(s, owners...)
	r.Severity, r.Verdict = rules.High, s
	r.Message, r.Cause, r.Remedy = s, s, s
	for n := range r.Objects {
		o := &r.Objects[n]
		o.Kind, o.Namespace, o.Name, o.Owner, o.Detail = s, s, s, s, s
	}
	r.ID = rules.ID(r.Rule, r.Subject)
	return r
}

// Whatever names, owners and annotations contain, no kind of message lets them become
// markup, links or hidden text, or cuts an escape.
func TestHostileNames(t *testing.T) {
	for _, row := range []struct {
		name   string
		maxNew int
		app    fakeslack.Membership
		to     string // the channel of all messages
	}{
		{"in the channel of the owner", 1000, fakeslack.Member, "CNAMED"},
		{"in a storm", 1, fakeslack.Member, "CNAMED"},
		{"instead of an owner that cannot be reached", 1000, fakeslack.Outside, "C000"},
		{"instead of one, in a storm", 1, fakeslack.Outside, "C000"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ws, cfg := teams(0)
			ws.Channels["CNAMED"], ws.Names = row.app, map[string]string{"team-x": "CNAMED"}
			cfg = strings.Replace(cfg, "tokenFile: token}", "tokenFile: token, channelFrom: {namespaceAnnotation: example.com/slack, allow: [\"team-*\"]}}", 1)
			link(t, ws, cfg, func(t *testing.T, c *pipeline) {
				c.maxNew = row.maxNew
				for _, s := range harm() {
					c.ownership = append(c.ownership, audit.NamespaceOwner{Namespace: s, Owner: s + "!", Channel: "team-x", Allowed: true})
					c.add(attack(s, s+"!", s+"?"))
				}
				c.life()
				if n := len(c.channels()[row.to]); n == 0 {
					t.Errorf("channel %s is empty", row.to)
				}
				c.harmless()
			})
		})
	}
}

// life changes findings, lets them age, and releases, resolves and reopens them.
func (c *pipeline) life() {
	c.sweep()
	for id, f := range c.violations {
		f.Objects = f.Objects[:1]
		c.violations[id] = f
	}
	c.sweep()
	time.Sleep(25 * time.Hour)
	c.sweep()
	for id, f := range c.violations {
		f.Owners = f.Owners[1:]
		c.violations[id] = f
	}
	c.sweep()
	violations := c.violations
	c.violations = map[string]audit.Finding{}
	c.sweep()
	c.violations = violations
	c.sweep()
	time.Sleep(2 * time.Hour)
	c.sweep()
}

var spanPattern = regexp.MustCompile("`[^`]+`")

// harmless fails the test if a text contains markup that is not in an escaped code span, or
// if Slack rejected anything but a channel.
func (c *pipeline) harmless() {
	c.t.Helper()
	kinds := map[string]bool{}
	for _, m := range c.slack.Messages() {
		versions := append([]fakeslack.Version{{Text: m.Text, Blocks: m.Blocks}}, m.Earlier...)
		for _, v := range versions {
			for _, s := range append(markupOf(c.t, v.Blocks), v.Text) {
				if bare := spanPattern.ReplaceAllString(s, ""); strings.ContainsAny(bare, "*_~`<>&@#") || strings.Contains(bare, "://") || strings.Contains(bare, "\n") {
					c.t.Errorf("markup: %q", s)
				}
			}
			for _, word := range []string{"new finding", "at once", "Changed", "still open", "no longer yours", "Resolved", "reopened", "instead of", "Details of"} {
				kinds[word] = kinds[word] || strings.Contains(v.Text+string(v.Blocks), word)
			}
		}
	}
	for _, r := range c.slack.Refusals() {
		if r.Error != "not_in_channel" {
			c.t.Errorf("refused: %+v", r)
		}
	}
	if size := c.slack.Largest(); size.Characters > 9000 || size.Blocks > 40 {
		c.t.Errorf("the largest message has %+v", size)
	}
	c.t.Logf("%d messages, of kinds %v", len(c.slack.Messages()), kinds)
	for _, word := range []string{"Changed", "still open", "no longer yours", "Resolved", "reopened"} {
		if !kinds[word] {
			c.t.Errorf("no message says %q", word)
		}
	}
}

// markupOf returns all texts with markup of blocks.
func markupOf(t *testing.T, blocks json.RawMessage) (out []string) {
	t.Helper()
	var v any
	if err := json.Unmarshal(blocks, &v); err != nil {
		t.Errorf("blocks: %v", err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if s, ok := v["text"].(string); ok && v["type"] == "mrkdwn" {
				out = append(out, s)
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return out
}
