package report

import (
	"github.com/eventuallytrue/audit/audit"
)

// deliveries writes who could not be told, and why. Of the others a number will do.
func (p *page) deliveries(res *audit.Result) {
	not := audit.Undelivered(res.Deliveries)
	if len(not) == 0 {
		return
	}
	const indent = 2
	p.line(span{"NOT TOLD", red}, span{text: "  " + number(len(not))})
	p.blank()
	for i, d := range not {
		if !p.wide && i == maxAdvisories {
			p.text(indent, span{}, "and "+number(len(not)-i)+" more (-o wide shows all)")
			break
		}
		who := show(d.Owner)
		if who != "" {
			who += " by "
		}
		p.text(indent, span{"- ", dim}, who+show(d.Sender)+", "+show(string(d.Result))+": "+show(d.Reason))
	}
	p.blank()
}

// told says how many owners were told, and of what nobody is.
func told(res *audit.Result) shown {
	var parts []string
	n := map[audit.DeliveryResult]int{}
	for _, d := range res.Deliveries {
		if d.Owner != "" { // else it is no digest
			n[d.Result]++
		}
	}
	if n[audit.DeliverySent] > 0 {
		parts = append(parts, string(count(n[audit.DeliverySent], "digest"))+" sent")
	}
	if n[audit.DeliveryHeld] > 0 {
		parts = append(parts, string(count(n[audit.DeliveryHeld], "digest"))+" held for quiet hours")
	}
	if s := res.ReportOnly; s != nil {
		parts = append(parts, string("report-only: "+count(s.Findings, "finding")+" not told, which would be "+count(s.Messages, "message")))
	}
	return join(parts)
}
