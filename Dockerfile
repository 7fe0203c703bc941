# Two images from one tree: `svc` (operator, agent and query server) and `minter`.
#   docker build --target svc -t svc-operator:0.1.0 .
#   docker build --target minter -t svc-minter:0.1.0 .
# BUILDER needs Node 24 and npm; BASE needs Node 24 on the path below or on PATH, and nothing else: no shell, no package
# manager. Both can be replaced where no public registry is in reach.
ARG BUILDER=node:24-bookworm-slim
ARG BASE=gcr.io/distroless/nodejs24-debian12:nonroot

FROM ${BUILDER} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
COPY ui ./ui
RUN npm run build

# What runs, apart from what builds: no dependency of the product has an install script.
FROM ${BUILDER} AS dependencies
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${BASE} AS runtime
ENV NODE_ENV=production \
    NODE_OPTIONS=--enable-source-maps \
    PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
COPY --from=build /src/package.json ./package.json
COPY --from=dependencies /src/node_modules ./node_modules
COPY --from=build /src/dist ./dist
# Numeric, so that the kubelet can tell that it is not root.
USER 65532:65532

FROM runtime AS minter
EXPOSE 8080 9090
ENTRYPOINT ["node", "/app/dist/bin/minter.js"]
CMD ["server", "run"]

# Last, and so the default target.
FROM runtime AS svc
EXPOSE 8080 9090 9091 9092 9093 9095
ENTRYPOINT ["node", "/app/dist/bin/svc.js"]
CMD ["--help"]
