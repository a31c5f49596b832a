package obs

// Counters of one process.
const (
	MetricRowsIngested     = "batchbus_rows_ingested_total"
	MetricResults          = "batchbus_results_total"
	MetricDeadLetters      = "batchbus_deadletters_total"
	MetricMessages         = "batchbus_messages_handled_total"
	MetricRedeliveries     = "batchbus_redeliveries_total" //nolint:gosec // no credential
	MetricProviderRequests = "batchbus_provider_requests_total"
	MetricProviderSeconds  = "batchbus_provider_request_seconds"
	MetricFilesDeleted     = "batchbus_orphan_files_deleted_total"
	MetricReconnects       = "batchbus_bus_reconnects_total"
	MetricBuildInfo        = "batchbus_build_info"
)

// Gauges of the bus, the same in every process.
const (
	MetricJobs               = "batchbus_jobs"
	MetricBatches            = "batchbus_batches"
	MetricBatchesOverdue     = "batchbus_batches_overdue"
	MetricHolds              = "batchbus_holds"
	MetricHeldSeconds        = "batchbus_held_seconds"
	MetricQueueTokens        = "batchbus_queue_tokens" //nolint:gosec // G101: a count, no credential
	MetricQueueMoney         = "batchbus_queue_money"
	MetricUnsettledRows      = "batchbus_unsettled_rows"
	MetricOldestUnsettled    = "batchbus_oldest_unsettled_seconds"
	MetricOldestBatchState   = "batchbus_oldest_batch_state_seconds"
	MetricOldestRequest      = "batchbus_oldest_request_seconds"
	MetricConsumerPending    = "batchbus_consumer_pending"
	MetricConsumerAckPending = "batchbus_consumer_ack_pending"
	MetricStreamBytes        = "batchbus_stream_bytes"
	MetricStreamLimit        = "batchbus_stream_limit_bytes"
	MetricStateAge           = "batchbus_state_age_seconds"
)
