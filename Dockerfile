# An image with the tool `sr` and the Python package, on the CPU build of torch:
#   docker build --tag sr .
#   docker run --rm --volume "$PWD:/models" sr bench /models/model.pt2
# Not built in CI, which has no container engine; `./dev package --isolated` tests what it runs. Where torch on your package
# index is a CUDA build, give pip the index of CPU builds: --build-arg PIP_INDEX_URL=...
FROM debian:12-slim AS build
ARG PIP_INDEX_URL
RUN apt-get update && apt-get install --yes --no-install-recommends \
      g++ libcli11-dev nlohmann-json3-dev pkg-config python3-dev python3-venv
RUN python3 -m venv /opt/sr && /opt/sr/bin/pip install --no-cache-dir numpy torch==2.13.0
COPY . /src
RUN /opt/sr/bin/pip install --no-cache-dir --config-settings=setup-args=-Dtool=enabled /src

FROM debian:12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 python3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/sr /opt/sr
ENV PATH=/opt/sr/bin:$PATH
ENTRYPOINT ["sr"]
CMD ["--help"]
