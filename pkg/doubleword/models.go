package doubleword

import (
	"context"
	"net/http"
)

type wireModel struct {
	ID      looseString `json:"id"`
	OwnedBy looseString `json:"owned_by"`
	Created looseTime   `json:"created"`
}

func (w wireModel) valid() bool { return w.ID != "" }

func (w wireModel) cursor() string { return string(w.ID) }

// Models lists the models the key may use. It is repeated inside for a short time. The list does not say which of them take batches
// or which windows.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	w, err := read[wireList[wireModel]](ctx, c, call{method: http.MethodGet, pattern: "/models"})
	if err != nil {
		return nil, err
	}
	models := make([]Model, 0, len(*w.Data))
	for _, m := range *w.Data {
		models = append(models, Model{ID: string(m.ID), OwnedBy: string(m.OwnedBy), CreatedAt: m.Created.Time})
	}
	return models, nil
}
