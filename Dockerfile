# The package, made from this folder.
FROM node:24-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund && mkdir /packed && npm pack --pack-destination /packed

FROM node:24-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git procps util-linux \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /packed /packed
RUN npm install --global --no-audit --no-fund /packed/*.tgz && npm cache clean --force && rm -rf /packed
USER node
WORKDIR /work
ENTRYPOINT ["factory"]
CMD ["--help"]
