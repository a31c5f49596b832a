package app

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/internal/webhook"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// The environment's names for the signing secret of webhooks, or several during a rotation. There is no flag for it, as for the API keys.
const (
	EnvWebhook     = "DOUBLEWORD_WEBHOOK_SECRET"
	EnvWebhookFile = EnvWebhook + fileSuffix
)

// WebhookFlags are the flags for the receiver of webhooks.
type WebhookFlags struct {
	Webhook string `placeholder:"ADDRESS" help:"Address that takes the provider's webhooks, such as :8090. Poller reads it. Default: none."`
}

// WebhookOptions are what the receiver is made of. The zero value is none.
type WebhookOptions struct {
	Address  string
	Verifier *doubleword.WebhookVerifier
}

// Hooks are what the flags and the environment say for the services, or all that is wrong with them.
func (f WebhookFlags) Hooks(env Env, services []string) (WebhookOptions, error) {
	if f.Webhook == "" || !slices.Contains(services, Poller) {
		return WebhookOptions{}, nil
	}
	_, _, err := net.SplitHostPort(f.Webhook)
	if err != nil {
		err = fmt.Errorf("--webhook: %w", err)
	}
	verifier, secretErr := webhookVerifier(env)
	return WebhookOptions{Address: f.Webhook, Verifier: verifier}, errors.Join(err, secretErr)
}

func webhookVerifier(env Env) (*doubleword.WebhookVerifier, error) {
	value, _ := env.Lookup(EnvWebhook)
	file, _ := env.Lookup(EnvWebhookFile)
	value, file = strings.TrimSpace(value), strings.TrimSpace(file)
	variable := EnvWebhook
	switch {
	case value != "" && file != "":
		return nil, fmt.Errorf("read webhook secret: both %s and %s are set: set one", EnvWebhook, EnvWebhookFile)
	case value == "" && file == "":
		return nil, fmt.Errorf("--webhook: no signing secret: set %s or %s", EnvWebhook, EnvWebhookFile)
	case file != "":
		read, err := readKey(EnvWebhookFile, file)
		if err != nil {
			return nil, err
		}
		value, variable = read, EnvWebhookFile
	}
	verifier, err := doubleword.NewWebhookVerifier(doubleword.NewSecret(value), 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", variable, err)
	}
	return verifier, nil
}

// withWebhook makes a replica of the poller take webhooks, if it is to.
func withWebhook(d *deps, service *poller.Service, err error) (Service, error) {
	o := d.options.Webhook
	if err != nil || o.Address == "" {
		return service, err
	}
	receiver, err := webhook.New(webhook.Config{
		Listen: webhook.Listen(o.Address), Verifier: o.Verifier, Poke: service.Poke, Log: d.log("webhook"),
	})
	if err != nil {
		return nil, err
	}
	return accompanied{service, []Service{receiver}}, nil
}
