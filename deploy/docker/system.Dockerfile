# syntax=docker/dockerfile:1
# A worked system, and whittle for its health check:
#   docker build -f deploy/docker/system.Dockerfile --build-arg SYSTEM=count -t whittle-count .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG SYSTEM
RUN cp "$(go list -m -f '{{.Dir}}' github.com/esimov/pigo)/cascade/facefinder" systems/emojify/facebox/cascade/facefinder \
 && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/usr/bin/system "./systems/$SYSTEM/cmd/$SYSTEM" \
 && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/usr/bin/whittle ./cmd/whittle \
 && mkdir -p /out/var/lib/system

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build --chown=65532:65532 /out/ /
WORKDIR /var/lib/system
VOLUME /var/lib/system
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/system"]
