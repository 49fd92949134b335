# One static binary, and the licences of what it is made of. Builds with docker, podman and buildah;
# image/ makes the same without them.
FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26 AS build
# A line each: there are builders that look at the first of a line alone.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.stamp=$VERSION" -o /audit ./cmd/audit

FROM scratch
ARG VERSION=devel
LABEL org.opencontainers.image.title=audit \
      org.opencontainers.image.source=https://github.com/eventuallytrue/audit \
      org.opencontainers.image.version=$VERSION
COPY THIRD_PARTY_LICENSES.md /THIRD_PARTY_LICENSES.md
COPY --from=build /audit /audit
USER 65532:65532
ENTRYPOINT ["/audit"]
