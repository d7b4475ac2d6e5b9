# syntax=docker/dockerfile:1
# The gateway: one static binary, no shell, no root. docker build -t whittle .
# With the fleet's NATS server in it: docker build --build-arg TAGS=embedded -t whittle-fleet .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=v0.0.0 COMMIT= DATE= TAGS=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags="$TAGS" \
      -ldflags="-s -w -X whittle/cmdline.version=$VERSION -X whittle/cmdline.commit=$COMMIT -X whittle/cmdline.date=$DATE" \
      -o /out/usr/bin/whittle ./cmd/whittle \
 && mkdir -p /out/etc/whittle/routes /out/var/lib/whittle

FROM gcr.io/distroless/static-debian12:nonroot
# A volume mounted on /var/lib/whittle takes its owner over.
COPY --from=build --chown=65532:65532 /out/ /
COPY deploy/docker/whittle.yaml /etc/whittle/whittle.yaml
WORKDIR /var/lib/whittle
VOLUME /var/lib/whittle
EXPOSE 8080
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["/usr/bin/whittle", "health", "--admin", "127.0.0.1:8081"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/whittle"]
CMD ["run", "-c", "/etc/whittle/whittle.yaml"]
