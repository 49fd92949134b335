package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/report"
)

// writeOwners prints owners and where each is told, as a table for people or as a
// list for programs.
func writeOwners(w io.Writer, format report.Format, cluster string, owners []audit.NamespaceOwner, places []audit.Destination) error {
	if format == report.JSON || format == report.YAML {
		return report.WriteOwners(w, format, cluster, owners, places)
	}
	if len(owners) == 0 {
		_, err := fmt.Fprintln(w, "no namespaces")
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"NAMESPACE", "OWNER", "WHY", "TOLD IN SLACK"}
	if format == report.Wide {
		head = append(head, "SHARED", "NAMES CHANNEL")
	}
	fmt.Fprintln(tab, strings.Join(head, "\t"))
	for i, o := range owners {
		row := []string{o.Namespace, ownerCell(o), whyCell(o), placeCell(places[i])}
		if format == report.Wide {
			row = append(row, sharedCell(o), channelCell(o))
		}
		for j := range row {
			row[j] = report.Cell(row[j])
		}
		fmt.Fprintln(tab, strings.Join(row, "\t"))
	}
	return tab.Flush()
}

func ownerCell(o audit.NamespaceOwner) string {
	if o.By == audit.ByNone {
		return "no owner"
	}
	return o.Owner
}

func whyCell(o audit.NamespaceOwner) string {
	switch {
	case o.By == audit.ByFallback:
		return "fallback: nobody else owns it"
	case o.By == audit.ByNone:
		return "no team claims it and no key names one"
	case o.Registry:
		return "claimed by " + o.By
	}
	return o.By
}

func placeCell(d audit.Destination) string {
	place := d.Channel
	if d.WebhookFile != "" {
		place = "webhook in " + d.WebhookFile
	}
	switch d.From {
	case audit.FromNone:
		return "nobody"
	case reportOnly:
		return "nobody: report only"
	case audit.FromAnnotation:
		return place + " (annotation of the Namespace)"
	case audit.FromFallback:
		return place + " (of the fallback owner)"
	}
	return place
}

func sharedCell(o audit.NamespaceOwner) string {
	if o.Shared {
		return "yes"
	}
	return "no"
}

func channelCell(o audit.NamespaceOwner) string {
	switch {
	case o.Channel == "":
		return "none"
	case !o.Allowed:
		return o.Channel + " (not allowed)"
	}
	return o.Channel
}
