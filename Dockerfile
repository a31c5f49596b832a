# One image for every program, chosen by the command: /ingest, /submitter, /poller, /collector, /batchbus or /simulator. It holds static
# programs, certificate authorities and two empty folders for volumes, and nothing else: no shell, no user but 65532.
#
# The version that `batchbus version` prints comes from the commit in .git, which Go writes into each program.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/bin/ ./cmd/... && mkdir -m 0755 /out/data /out/certs

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/bin/ /
# A new volume takes the owner of the folder it is mounted over.
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/certs /certs
ENV PATH=/
USER 65532:65532
EXPOSE 8081-8084
CMD ["/batchbus", "--help"]
