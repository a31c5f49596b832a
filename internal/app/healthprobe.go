package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// probeTimeout is how long a probe of the own admin address may take; a look at the topology is within it.
const probeTimeout = 5 * time.Second

// probe asks the admin address of the process that runs with the same settings whether it is ready, and prints one line. The exit code is 0
// or 1: what container engines make of a health check.
func probe(ctx context.Context, env Env, address string) int {
	line, err := askReady(ctx, address)
	if err != nil {
		fmt.Fprintln(env.Stdout, "not ready:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return ExitRows
	}
	fmt.Fprintln(env.Stdout, "ready:", line)
	return ExitOK
}

func askReady(ctx context.Context, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("parse --admin: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return "", fmt.Errorf("ask admin address: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask admin address: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return "", fmt.Errorf("read answer of admin address: %w", err)
	}
	if line := strings.TrimSpace(string(text)); response.StatusCode != http.StatusOK {
		return "", errors.New(line)
	}
	return strings.TrimSpace(string(text)), nil
}
