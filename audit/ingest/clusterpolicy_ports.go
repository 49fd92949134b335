package ingest

import (
	"errors"
	"fmt"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// clusterProtocol is a port as ClusterNetworkPolicy spells it since v1alpha2: one
// of its fields is set.
type clusterProtocol struct {
	TCP   *clusterDestination `json:"tcp"`
	UDP   *clusterDestination `json:"udp"`
	SCTP  *clusterDestination `json:"sctp"`
	Named string              `json:"destinationNamedPort"`
}

type clusterDestination struct {
	Port *struct {
		Number int32         `json:"number"`
		Range  *clusterRange `json:"range"`
	} `json:"destinationPort"`
}

// clusterPort is a port as it was spelt before: one of its fields is set.
type clusterPort struct {
	Number *struct {
		Protocol snapshot.Protocol `json:"protocol"`
		Port     int32             `json:"port"`
	} `json:"portNumber"`
	Range *clusterRange `json:"portRange"`
	Named string        `json:"namedPort"`
}

// clusterRange is an inclusive range of ports. Only the older spelling has the
// protocol here.
type clusterRange struct {
	Protocol snapshot.Protocol `json:"protocol"`
	Start    int32             `json:"start"`
	End      int32             `json:"end"`
}

var errNoPort = errors.New("a port is neither a number nor a range nor a name")

// ports returns the ports of a rule: all of them where it names none.
func (r *clusterRule) ports() (snapshot.Ports, error) {
	var out snapshot.Ports
	if r.Protocols != nil && len(r.Protocols) == 0 || r.Ports != nil && len(r.Ports) == 0 {
		return out, errors.New("its list of ports is empty")
	}
	out.All = len(r.Protocols)+len(r.Ports) == 0
	for i := range r.Protocols {
		if err := r.Protocols[i].add(&out); err != nil {
			return out, err
		}
	}
	for i := range r.Ports {
		if err := r.Ports[i].add(&out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (p *clusterProtocol) add(to *snapshot.Ports) error {
	switch {
	case p.TCP != nil:
		return p.TCP.add(to, snapshot.TCP)
	case p.UDP != nil:
		return p.UDP.add(to, snapshot.UDP)
	case p.SCTP != nil:
		return p.SCTP.add(to, snapshot.SCTP)
	case p.Named != "":
		to.Named++
		return nil
	}
	return errNoPort
}

// add adds the ports of one protocol: all of them where none is named.
func (d *clusterDestination) add(to *snapshot.Ports, protocol snapshot.Protocol) error {
	switch {
	case d.Port == nil:
		return addRange(to, protocol, 1, snapshot.LastPort)
	case d.Port.Range != nil:
		return addRange(to, protocol, d.Port.Range.Start, d.Port.Range.End)
	}
	return addRange(to, protocol, d.Port.Number, d.Port.Number)
}

func (p *clusterPort) add(to *snapshot.Ports) error {
	switch {
	case p.Number != nil:
		return addRange(to, p.Number.Protocol, p.Number.Port, p.Number.Port)
	case p.Range != nil:
		return addRange(to, p.Range.Protocol, p.Range.Start, p.Range.End)
	case p.Named != "":
		to.Named++
		return nil
	}
	return errNoPort
}

// addRange adds a range of ports; of TCP, where no protocol is given.
func addRange(to *snapshot.Ports, protocol snapshot.Protocol, first, last int32) error {
	switch protocol {
	case "":
		protocol = snapshot.TCP
	case snapshot.TCP, snapshot.UDP, snapshot.SCTP:
	default:
		return fmt.Errorf("there is no protocol %q", protocol)
	}
	if first < 1 || last > snapshot.LastPort || last < first {
		return fmt.Errorf("there are no ports %d to %d", first, last)
	}
	to.Ranges = append(to.Ranges, snapshot.PortRange{Protocol: protocol, First: first, Last: last})
	return nil
}
