package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules/catalog"
)

func newConfig(c command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check a config file, or explain its keys",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return errors.New("config wants one of: check, explain") },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "check FILE",
		Short: "Say whether a config file is sound, or everything that is wrong with it",
		Long: `check reads a config file, or standard input where FILE is -, and nothing else: no
cluster and none of the files that it names.

Exit codes: 0 the config is sound, with notes on standard error where it may mean
something else than its writer; 2 it is not, with every mistake.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("config check wants one FILE, or - for standard input")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return c.checkConfig(args[0]) },
	}, &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Tell what keys a config file may have, or those that begin with KEY",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return explainConfig(c.out, strings.Join(args, "")) },
	})
	return cmd
}

func (c command) checkConfig(path string) error {
	var cfg config.Config
	var err error
	if path == "-" {
		cfg, err = c.stdinConfig()
	} else {
		cfg, err = config.Read(path, catalog.All())
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	for _, note := range cfg.Notes(c.now()) {
		fmt.Fprintf(c.err, "audit: note: %s\n", safeLine(note))
	}
	_, err = fmt.Fprintf(c.out, "%s: sound: %s\n", safeLine(path), safeLine(describeConfig(&cfg)))
	return err
}

func (c command) stdinConfig() (config.Config, error) {
	data, err := io.ReadAll(io.LimitReader(c.in, config.MaxSize+1))
	if err != nil {
		return config.Config{}, fmt.Errorf("read config: %w", err)
	}
	return config.Parse(data, "standard input", catalog.All())
}

// describeConfig says what a config is, in a few words.
func describeConfig(c *config.Config) string {
	cluster := "no cluster named"
	if c.Cluster != "" {
		cluster = "cluster " + c.Cluster
	}
	on, quiet := 0, 0
	for _, r := range catalog.All() {
		s := c.Settings(r)
		if s.Enabled {
			on++
		}
		if s.Enabled && s.ReportOnly {
			quiet++
		}
	}
	told := 0
	for i := range c.Owners.Teams {
		if t := &c.Owners.Teams[i]; t.Slack.HasDestination() && !t.ReportOnly {
			told++
		}
	}
	return fmt.Sprintf("%s; rules: %d of %d on, %d of them report only; teams: %d, %d of them told in Slack; exceptions: %d",
		cluster, on, len(catalog.All()), quiet, len(c.Owners.Teams), told, len(c.Exceptions))
}
