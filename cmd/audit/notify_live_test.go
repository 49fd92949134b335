package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

const botToken = "xoxb-1-the-token-of-the-bot"

// workspace is a cluster with the estate, and the Slack workspace in which its owners
// have the channels of the estate's config.
type workspace struct {
	c     *kubetest.Cluster
	slack *fakeslack.Server
	args  []string // that notify owners
}

// newWorkspace returns a workspace in which one channel may be replaced.
func newWorkspace(t *testing.T, change map[string]fakeslack.Membership) *workspace {
	t.Helper()
	c, args := publishing(t)
	w := &workspace{c: c}
	channels := map[string]fakeslack.Membership{}
	allowed := []string{"<!subteam^S0100000001>", "<!subteam^S0100000004>"}
	for i := range 10 {
		channel := fmt.Sprintf("C01000000%02d", i+1)
		channels[channel] = fakeslack.Member
		allowed = append(allowed, "<#"+channel+">") // of other owners of a finding
	}
	maps.Copy(channels, change)
	w.slack = fakeslack.Start(t, fakeslack.Config{
		Token: botToken, Interval: -1, Channels: channels,
		Allowed: allowed,
	})
	estate, err := os.ReadFile(filepath.Join("..", "..", "testdata", "estate.config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	token, cfg := filepath.Join(dir, "token"), filepath.Join(dir, "config.yaml")
	for path, content := range map[string]string{token: botToken + "\n", cfg: string(estate) + "slack: {tokenFile: " + token + "}\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.args = append(args, "--config", cfg, "--slack-api-url", w.slack.APIURL())
	return w
}

// heads returns the number of top-level messages in each channel.
func (w *workspace) heads() map[string]int {
	n := map[string]int{}
	for _, m := range w.slack.Messages() {
		if m.Thread == "" {
			n[m.Channel]++
		}
	}
	return n
}

func (w *workspace) neverRefused(t *testing.T) {
	t.Helper()
	for _, r := range w.slack.Refusals() {
		t.Errorf("Slack rejected: %+v", r)
	}
}

const logistics = "C0100000008"

// What only delivery needs is no reason not to sweep: findings are stored, the sweep says
// what is missing even where nothing is pending, and everything is sent once it is there.
func TestMissingSecretStopsNoSweep(t *testing.T) {
	w := newWorkspace(t, nil)
	token := filepath.Join(t.TempDir(), "token")
	config, err := os.ReadFile(filepath.Join("..", "..", "testdata", "estate.config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.args = append(w.args, "--config", configured(t, string(config)+"slack: {tokenFile: "+token+"}\n"))
	withoutToken := execute(append([]string{"--once"}, append(w.args, "--config", configured(t, string(config)))...)...)
	if withoutToken.code != exitIncomplete || !strings.Contains(withoutToken.stderr, "set slack.tokenFile or "+slackTokenEnv) {
		t.Errorf("exit %d without a token: %s", withoutToken.code, withoutToken.stderr)
	}
	for _, content := range []string{"", "two words"} { // missing, then unusable
		if content != "" {
			if err := os.WriteFile(token, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := execute(append([]string{"--once", "-o", "json"}, w.args...)...)
		named := false
		for _, f := range decode(t, got.stdout).Failures {
			named = named || f.Where == "slack" && strings.Contains(f.Reason, token)
		}
		if got.code != exitIncomplete || !named || !strings.Contains(got.stderr, token) {
			t.Errorf("exit %d, named %t: %s", got.code, named, got.stderr)
		}
		if len(stored(t, w.c)) == 0 || len(w.slack.Requests()) > 0 {
			t.Errorf("%d findings are stored, %d requests", len(stored(t, w.c)), len(w.slack.Requests()))
		}
	}
	if err := os.WriteFile(token, []byte(botToken), 0o600); err != nil {
		t.Fatal(err)
	}
	sweep(t, 0, w.args...)
	if w.neverRefused(t); len(w.slack.Messages()) == 0 {
		t.Error("nothing is sent once the token is there")
	}
}

func TestOwnersAreNotifiedOnceAndOfTheResolution(t *testing.T) {
	w := newWorkspace(t, nil)
	res := sweep(t, 0, append(w.args, "--dry-run")...)
	if len(w.slack.Requests()) > 0 || len(stored(t, w.c)) > 0 {
		t.Error("a rehearsal asked Slack or stored something")
	}
	rehearsed := map[string]int{}
	for _, m := range res.Messages {
		rehearsed[m.Address]++
	}
	sweep(t, 0, w.args...)
	w.neverRefused(t)
	sent := map[string]int{}
	for _, m := range w.slack.Messages() {
		sent[m.Channel]++
	}
	if diff := cmp.Diff(rehearsed, sent); diff != "" || len(sent) == 0 {
		t.Errorf("messages by channel (-dry run +sent):\n%s", diff)
	}
	for channel, n := range w.heads() {
		if n != 1 {
			t.Errorf("channel %s has %d digests", channel, n)
		}
	}

	calls, before := len(w.slack.Requests()), versions(t, w.c)
	sweep(t, 0, w.args...)
	if got := len(w.slack.Requests()); got != calls {
		t.Errorf("an unchanged cluster made %d calls", got-calls)
	}
	if diff := cmp.Diff(before, versions(t, w.c)); diff != "" {
		t.Errorf("a sweep of an unchanged cluster wrote (-before +after):\n%s", diff)
	}

	head := w.slack.In(logistics)[0]
	replies := len(w.slack.Replies(logistics, head.TS))
	kubectl(t, w.c, "delete", "networkpolicy", "-n", "tracking", "tmp-debug")
	sweep(t, 0, w.args...)
	w.neverRefused(t)
	if got := w.slack.Replies(logistics, head.TS); len(got) != replies+1 || !strings.Contains(got[replies].Text, "resolved") {
		t.Errorf("the thread has %d more replies, the last %q", len(got)-replies, got[len(got)-1].Text)
	}
	if head = w.slack.In(logistics)[0]; len(head.Earlier) != 1 || len(w.slack.Messages()) != len(res.Messages)+1 {
		t.Errorf("the digest was updated %d times; there are %d messages", len(head.Earlier), len(w.slack.Messages()))
	}
}

// A preview needs neither the definition of findings, nor rights on them, nor a token.
func TestPreviewBeforeInstalling(t *testing.T) {
	c := control.Cluster(t)
	kubectl(t, c, "apply", "-f", configured(t, smallCluster))
	kubectl(t, c, "apply", "-f", filepath.Join("..", "..", "charts", "read-only.yaml"))
	kubectl(t, c, "create", "clusterrolebinding", "audit-read-only", "--clusterrole=audit-read-only", "--user="+kubetest.Guest)
	awaitSweep(t, c)
	config := configured(t, strings.Replace(namesTwo, "team-a", "team-a, slack: {channel: C0100000001}", 1))
	for user, says := range map[string]string{kubetest.Admin: "the server does not serve findings", kubetest.Guest: "cannot list resource"} {
		got := execute("--once", "--publish", "--dry-run", "--kubeconfig", c.Kubeconfig(user), "--config", config)
		for _, want := range []string{says, "this preview shows all findings as new", "set slack.tokenFile or " + slackTokenEnv} {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("%s is not told %q: %s", user, want, got.stderr)
			}
		}
		if got.code != 0 || !strings.Contains(got.stdout, "1 new finding on prod") {
			t.Errorf("exit %d for %s:\n%s", got.code, user, got.stdout)
		}
	}
}

func TestRefusedChannelGoesToThePlatform(t *testing.T) {
	const catalog, platform = "C0100000006", "C0100000001"
	w := newWorkspace(t, map[string]fakeslack.Membership{catalog: fakeslack.Archived})
	out := execute(append([]string{"--once", "-o", "json"}, w.args...)...)
	if out.code != 3 || !strings.Contains(out.stderr, "catalog by slack: refused: ") || strings.Contains(out.stderr+out.stdout, botToken) {
		t.Errorf("exit %d: %s", out.code, out.stderr)
	}
	if n := w.heads(); n[catalog] != 0 || n[platform] != 2 || n[logistics] != 1 {
		t.Errorf("digests by channel: %v", n)
	}
	for _, f := range stored(t, w.c, "--owner", "catalog") {
		for _, n := range f.Notifications {
			refused := n.Owner == "catalog"
			if n.Last != "opened" || refused != (n.Error != "") || refused != (n.Channel == platform && n.Owner != "platform") {
				t.Errorf("%s: %+v", f.ID, n)
			}
		}
	}
	sweep(t, 0, w.args...)
}

// Two configs in one namespace undo each other's work, which each of their sweeps says. One
// that changes is a roll-out, and lets what was refused be tried at once.
func TestConfigsInTurnAreReported(t *testing.T) {
	const catalog = "C0100000006"
	w := newWorkspace(t, map[string]fakeslack.Membership{catalog: fakeslack.Archived, "C0100000001": fakeslack.Archived})
	path := w.args[slices.Index(w.args, "--config")+1]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	use := func(config string) {
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := today
	publish := func(says string, refused bool) {
		t.Helper()
		asked := len(w.slack.Refusals())
		now = now.Add(time.Minute)
		out := executeAt(now, nil, append([]string{"--once", "-o", "json"}, w.args...)...)
		if out.code != 3 || strings.Contains(out.stderr, "two different configs are in use in turn: ") != (says != "") || !strings.Contains(out.stderr, says) {
			t.Errorf("exit %d: %s", out.code, out.stderr)
		}
		if tried := len(w.slack.Refusals()) > asked; tried != refused {
			t.Errorf("it tried what was refused: %t", tried)
		}
	}
	publish("", true)
	publish("", false)
	use("# a comment\n" + string(text))
	publish("", false)
	other := strings.Replace(string(text), "slack: {tokenFile", "slack: {remindAfter: 12h, tokenFile", 1)
	use(other)
	publish("", true)
	publish("", false)
	use(string(text))
	publish("before. Each undoes what the other decided", true)
	publish("findings-namespace", false)
}
