# A static binary and its third-party licenses. docker, podman and buildah build it;
# e2e/image builds the same image without them.
FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26 AS build
# One per line: some builders only read the first name on a line.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.stamp=$VERSION" -o /audit ./cmd/audit
RUN go run -C e2e/image ./licenses -out /THIRD_PARTY_LICENSES.md

FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title=audit \
      org.opencontainers.image.source=https://github.com/eventuallytrue/audit \
      org.opencontainers.image.version=$VERSION
COPY --from=build /THIRD_PARTY_LICENSES.md /THIRD_PARTY_LICENSES.md
COPY --from=build /audit /audit
USER 65532:65532
ENTRYPOINT ["/audit"]
