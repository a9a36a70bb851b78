package fence

import (
	"errors"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// Classify adds the codes that an error of the cloud deserves, by its text as a real provider's would
// (docs/specification/care.md#spec-5-8). Errors of anybody else stay as they are: what an API server forbids is no
// matter of cloud permissions.
func Classify(err error) error {
	refused, ok := errors.AsType[*cloud.Error](err)
	if !ok {
		return err
	}
	return contract.WithCodes(err, errorcodes.Classify(refused.Error())...)
}
