# Two images from one tree: `svc` (operator, agent and query server) and `minter`. `make images` builds both for amd64 and
# arm64, with labels and a digest that the sources alone decide. By hand:
#   docker build --target svc -t svc-operator:0.1.0 .
#   docker build --target minter -t svc-minter:0.1.0 .
# BUILDER needs Node 24 and npm; BASE needs Node 24 on the path below or on PATH, and nothing else: no shell, no package
# manager. Both can be replaced where no public registry is in reach.
# Each is named by digest, so that a build today and one next year start from the same bytes. The tag says what it was;
# CONTRIBUTING.md says how the digests are renewed.
ARG BUILDER=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG BASE=gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a

# On the machine's own platform, whatever the image is for: what it makes is JavaScript.
FROM --platform=$BUILDPLATFORM ${BUILDER} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc LICENSE ./
# No package runs code of its own here: what builds the product works without any install script.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
COPY ui ./ui
# What --version tells: the commit, and the time that it was made in seconds. The same two give the same bytes.
ARG COMMIT=unknown
ARG SOURCE_DATE_EPOCH=0
RUN SVC_COMMIT=${COMMIT} SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} npm run build

# Each image holds one bundle, which has all of its dependencies in it, and their licences. The platform is named because
# buildah 1.28 else keeps that of the stage before, and puts its Node into an image of another architecture.
FROM --platform=$TARGETPLATFORM ${BASE} AS runtime
ENV NODE_ENV=production \
    PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
COPY --from=build /src/package.json /src/LICENSE ./
ARG VERSION=unknown
ARG COMMIT=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${COMMIT} \
      org.opencontainers.image.created=${CREATED} \
      org.opencontainers.image.licenses=Apache-2.0
# Numeric, so that the kubelet can tell that it is not root.
USER 65532:65532

FROM runtime AS minter
LABEL org.opencontainers.image.title=svc-minter \
      org.opencontainers.image.description="Mints 1-hour, repository-scoped tokens from a key that never leaves the key service"
COPY --from=build /src/dist/minter ./dist/minter
EXPOSE 8080 9090
ENTRYPOINT ["node", "/app/dist/minter/minter.js"]
CMD ["server", "run"]

# Last, and so the default target.
FROM runtime AS svc
LABEL org.opencontainers.image.title=svc-operator \
      org.opencontainers.image.description="Operator, agent and query server: traffic capture and cluster-wide PromQL without a central store"
COPY --from=build /src/dist/svc ./dist/svc
COPY --from=build /src/dist/ui ./dist/ui
EXPOSE 8080 9090 9091 9092 9093 9095
ENTRYPOINT ["node", "/app/dist/svc/svc.js"]
CMD ["--help"]
