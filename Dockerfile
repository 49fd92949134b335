# One static binary and nothing else. Builds with docker, podman and buildah.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS=linux TARGETARCH VERSION=devel
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.stamp=$VERSION" -o /audit ./cmd/audit

FROM scratch
COPY --from=build /audit /audit
USER 65532:65532
ENTRYPOINT ["/audit"]
