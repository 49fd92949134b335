package faults

import (
	"encoding/json"
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// The files of a run that is kept.
const (
	planFile  = "plan.json"
	apiFile   = "API server"
	slackFile = "Slack"
)

// text is a run as it is kept: with all that happens in it, so that it stays what it
// is where seeds come to mean something else.
func (s *stage) text(t *testing.T) string {
	t.Helper()
	p, err := json.Marshal(s.plan)
	if err != nil {
		t.Fatal(err)
	}
	return string(txtar.Format(&txtar.Archive{Files: []txtar.File{
		{Name: planFile, Data: append(p, '\n')},
		{Name: apiFile, Data: []byte(s.script.String())},
		{Name: slackFile, Data: []byte(s.slack.String())},
	}}))
}

// run is a run that was kept.
type run struct {
	plan  plan
	api   func(kubetest.Step) kubetest.Fault
	slack func(fakeslack.Step) fakeslack.Fault
}

// readRun reads a run that was kept.
func readRun(path string) (*run, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	var r run
	for _, f := range archive.Files {
		switch f.Name {
		case planFile:
			err = json.Unmarshal(f.Data, &r.plan)
		case apiFile:
			r.api, err = kubetest.ParseScript(string(f.Data))
		case slackFile:
			r.slack, err = fakeslack.ParseScript(string(f.Data))
		default:
			err = fmt.Errorf("a run has no file %q", f.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	if len(r.plan.Acts) == 0 || r.api == nil || r.slack == nil {
		return nil, fmt.Errorf("read %s: something is missing", path)
	}
	return &r, nil
}
