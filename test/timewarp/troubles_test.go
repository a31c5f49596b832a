package timewarp_test

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

const (
	retriedBatches = 3 // that somebody at the provider's dashboard has run again
	lateBills      = 5 // batches whose bill is not whole when they end
)

// troubledProvider is a provider that has every fault, each at a low rate, and that pays a row a minute in each batch.
func troubledProvider(seed uint64) simulator.Config {
	return simulator.Config{
		Seed: seed, Latency: 10 * time.Minute, RowsPerSecond: 1.0 / 60, FailureRate: 0.03, Faults: troubles(seed),
		Windows: []string{window, "1h"}, Prices: dayPrices(),
	}
}

// troubles are the faults of a seed's day.
func troubles(seed uint64) []simulator.Fault {
	all := append(sometimes(), ofSomeBatches(rand.New(rand.NewPCG(seed, 1)))...)
	return append(all, ofSomeRows()...)
}

// sometimes are faults of single calls.
func sometimes() (all []simulator.Fault) {
	const list, file, one = "GET /v1/batches", "GET /v1/files/{id}/content", "GET /v1/batches/{id}"
	for _, f := range []struct {
		fault simulator.Fault
		share float64
	}{
		{simulator.Fault{Kind: simulator.FaultStatus, Route: list, Status: http.StatusServiceUnavailable}, 0.03},
		{simulator.AuthFlake(list), 0.03},
		{simulator.AuthFlake(file), 0.03},
		{simulator.BadGateway(file), 0.03},
		{simulator.BadGateway("POST /v1/files"), 0.1},
		{simulator.BadGateway("POST /v1/batches/{id}/cancel"), 0.3},
		{simulator.Fault{Kind: simulator.FaultNotFound, Delay: time.Minute}, 0.2},
		{simulator.Fault{Kind: simulator.FaultNotFound, Route: one}, 0.1},
		{simulator.Fault{Kind: simulator.FaultListLag, Delay: time.Minute}, 0.1},
		{simulator.Fault{Kind: simulator.FaultAfterIgnored}, 0.1},
		{simulator.Fault{Kind: simulator.FaultOffsetHonoured}, 0.3},
		{simulator.Fault{Kind: simulator.FaultShortBody, Bytes: 900}, 0.05},
		{simulator.Fault{Kind: simulator.FaultShortBody, Bytes: 1500, Clean: true}, 0.05},
		{simulator.Fault{Kind: simulator.FaultLastLineOverstated, Rows: 3}, 0.1},
		{simulator.Fault{Kind: simulator.FaultCompleteEarly}, 0.1},
		{simulator.Fault{Kind: simulator.FaultIncompleteForever}, 0.1},
		{simulator.Fault{Kind: simulator.FaultUnknownStatus}, 0.02},
		{simulator.Fault{Kind: simulator.FaultISOTimes}, 0.1},
		{simulator.Fault{Kind: simulator.FaultCreateReplyLost}, 0.05},
		{simulator.Fault{Kind: simulator.FaultCreateReplyLost, Status: http.StatusInternalServerError}, 0.05},
		{simulator.Fault{Kind: simulator.FaultCreateLate, Delay: 6 * time.Minute}, 0.05},
		{simulator.CapacityFull(), 0.05},
		{simulator.UploadSlots(), 0.05},
	} {
		f.fault.Count, f.fault.Share = -1, f.share
		all = append(all, f.fault)
	}
	return all
}

// ofSomeBatches are faults of whole batches, each of one or a few that the seed chooses.
func ofSomeBatches(random *rand.Rand) []simulator.Fault {
	all := []simulator.Fault{
		{Kind: simulator.FaultFrozenValidating, Delay: 3 * time.Hour},
		{Kind: simulator.FaultFrozenCancelling, Delay: time.Hour},
		{Kind: simulator.FaultColdModel, Delay: 5 * time.Hour},
		{Kind: simulator.FaultRetriedRow, Share: 0.1, Count: 2},
		{Kind: simulator.FaultCreditOut, Rows: 4},
		{Kind: simulator.FaultLateAfterCancel, Rows: 2, Delay: 20 * time.Minute, Count: -1},
		{Kind: simulator.FaultOperatorRetry, Delay: 5 * time.Minute, Count: retriedBatches},
		{Kind: simulator.FaultAnalyticsLag, Delay: 10 * time.Minute, Count: lateBills},
	}
	for i := range all {
		if all[i].Count >= 0 {
			all[i].Nth = 1 + random.IntN(dayBatches-all[i].Count)
		}
	}
	return all
}

// ofSomeRows are faults of rows.
func ofSomeRows() (all []simulator.Fault) {
	for _, kind := range []simulator.FaultKind{
		simulator.FaultMissingRow, simulator.FaultLateRow, simulator.FaultDuplicateRow, simulator.FaultStringBody, simulator.FaultNullBody,
		simulator.FaultTruncated, simulator.FaultModelSubstituted, simulator.FaultNestedError,
	} {
		f := simulator.Fault{Kind: kind, Share: 0.01, Count: -1}
		if kind == simulator.FaultLateRow {
			f.Delay = 3 * time.Minute
		}
		all = append(all, f)
	}
	return all
}
