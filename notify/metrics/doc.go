// Package metrics tells Prometheus what sweeps come to.
//
// There are three sets of metrics. The picture shows findings, and is taken of
// complete sweeps only: what an incomplete one does not show may be there all the
// same. The attempt shows how the last sweep went, however it ended. The stamp is
// the time of the last sweep in which nothing failed at all. Each is a group of its
// own at a Pushgateway, replaced as a whole, so that series of mended findings
// vanish and a failed sweep leaves the last good picture standing; in a process
// that sweeps continuously a Board serves the three together.
//
// Every metric is a gauge that tells of one sweep. A job begins its counters anew
// each time, so there is nothing that a rate could be taken of; and ages are
// told as the time since which, for an age would stand still with the job that
// told it.
//
// No label holds anything that a tenant of the cluster can name. Labels are words
// of the program, rules, kinds of objects, or owners of the config's registry;
// whatever else there is counts as "other".
package metrics
