package deploy_test

import (
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

func TestAClusterGoesOnWithoutOneOfItsNodes(t *testing.T) {
	t.Parallel()
	const rows, models = 4000, 4
	d := rig.Deploy(t, rig.Shape{Replicas: 2, Cluster: true, Services: []string{"--replicas=3", "--max-store=10737418240"}, Simulator: []string{"--rows-per-second=40"}})
	d.Publish("cluster", strings.NewReader(rig.Numbered(rows, models)))
	for i, node := range d.Nodes { // each in turn, so that every leader is lost once
		rig.Eventually(t, "results come", func() bool { return d.Count(jetstore.StreamResults) > uint64(200*(i+1)) })
		before := d.Count(jetstore.StreamResults)
		node.Kill()
		rig.Eventually(t, "results come without a node", func() bool {
			return d.Count(jetstore.StreamResults) > before || before == rows // a busy machine may have had the time to end
		})
		node.Start()
	}
	d.Await(events.JobDone, "cluster")
	d.WantAllSucceeded("cluster", rows)
	d.WantPaid(models, rows)
}
