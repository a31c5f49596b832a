package main

// Each command shows an example below its flags' help. A test runs all of them (test/e2e/examples_test.go).

// example is the text of a command's help.
func example(line string) string { return "Example:\n\n    " + line }

// Help shows an example.
func (*runCommand) Help() string {
	return example("batchbus run rows.jsonl --job nightly --set body.temperature=0 --out answers")
}

// Help shows an example.
func (*devCommand) Help() string { return example("batchbus dev --listen 127.0.0.1:4222 --data bus") }

// Help shows an example.
func (*gatewayCommand) Help() string {
	return example("batchbus gateway --listen 127.0.0.1:8090 --data calls")
}

// Help shows an example.
func (*submitCommand) Help() string {
	return example("batchbus submit rows.jsonl --job weekly --queue night --data .batchbus")
}

// Help shows an example.
func (*statusCommand) Help() string {
	return example("batchbus status nightly --json --data .batchbus")
}

// Help shows an example.
func (*waitCommand) Help() string {
	return example("batchbus wait weekly --queue night --timeout 10m --data .batchbus")
}

// Help shows an example.
func (*watchCommand) Help() string { return example("batchbus watch nightly --data .batchbus") }

// Help shows an example.
func (*resultsCommand) Help() string {
	return example("batchbus results nightly --format openai --data .batchbus")
}

// Help shows an example.
func (*sealCommand) Help() string {
	return example("batchbus seal monthly --expected-rows 3 --data .batchbus")
}

// Help shows an example.
func (*cancelCommand) Help() string { return example("batchbus cancel monthly --data .batchbus") }

// Help shows an example.
func (*resumeCommand) Help() string {
	return example("batchbus resume nightly --budget 12.50 --data .batchbus")
}

// Help shows an example.
func (*adoptCommand) Help() string { return example("batchbus batch adopt nightly/1 --data .batchbus") }

// Help shows an example.
func (*abandonCommand) Help() string {
	return example("batchbus batch abandon nightly/1 --data .batchbus")
}

// Help shows an example.
func (*retryCommand) Help() string { return example("batchbus retry failing --all --data .batchbus") }

// Help shows an example.
func (*listCommand) Help() string { return example("batchbus list --queue night --data .batchbus") }

// Help shows an example.
func (*jobsOpenCommand) Help() string {
	return example("batchbus jobs open monthly --window 1h --set body.temperature=0 --data .batchbus")
}

// Help shows an example.
func (*queuesListCommand) Help() string { return example("batchbus queues list --data .batchbus") }

// Help shows an example.
func (*queuesGetCommand) Help() string { return example("batchbus queues get night --data .batchbus") }

// Help shows an example.
func (*queuesPutCommand) Help() string {
	return example("batchbus queues put night --set window=1h --set retry.max_attempts=3 --data .batchbus")
}

// Help shows an example.
func (*queuesPauseCommand) Help() string {
	return example("batchbus queues pause night --reason 'until Monday' --data .batchbus")
}

// Help shows an example.
func (*queuesResumeCommand) Help() string {
	return example("batchbus queues resume night --data .batchbus")
}

// Help shows an example.
func (*auditCommand) Help() string { return example("batchbus audit --all --data .batchbus") }

// Help shows an example.
func (*deadlettersListCommand) Help() string {
	return example("batchbus deadletters list --job broken --count --data .batchbus")
}

// Help shows an example.
func (*deadlettersShowCommand) Help() string {
	return example("batchbus deadletters show bad --data .batchbus")
}

// Help shows an example.
func (*deadlettersRequeueCommand) Help() string {
	return example("batchbus deadletters requeue broken --set body.stream=false --dry-run --data .batchbus")
}

// Help shows an example.
func (*deadlettersPurgeCommand) Help() string {
	return example("batchbus deadletters purge --job broken --data .batchbus")
}

// Help shows an example.
func (*forgetCommand) Help() string { return example("batchbus forget nightly --data .batchbus") }

// Help shows an example.
func (*validateCommand) Help() string { return example("batchbus validate rows.jsonl --json") }

// Help shows an example.
func (*setupCommand) Help() string { return example("batchbus setup --nats nats://127.0.0.1:4222") }

// Help shows an example.
func (*versionCommand) Help() string { return example("batchbus version") }
