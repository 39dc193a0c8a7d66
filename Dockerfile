# An image with the tool `sr` and the Python package, on the CPU build of torch:
#   docker build --tag sr .
#   docker run --rm --volume "$PWD:/models" sr bench /models/model.pt2
#   docker run --rm --volume "$PWD:/models" --publish 8000:8000 --publish 8001:8001 sr serve /models/model.pt2 --host 0.0.0.0
# Not built in CI, which has no container engine; `./dev package --isolated` tests what it runs. Where torch on your package
# index is a CUDA build, give pip the index of CPU builds: --build-arg PIP_INDEX_URL=...
FROM debian:12-slim AS build
ARG PIP_INDEX_URL
RUN apt-get update && apt-get install --yes --no-install-recommends \
      g++ libboost-dev libcli11-dev libgrpc++-dev libssl-dev nlohmann-json3-dev pkg-config protobuf-compiler \
      protobuf-compiler-grpc python3-dev python3-venv
RUN python3 -m venv /opt/sr && /opt/sr/bin/pip install --no-cache-dir numpy torch==2.13.0
COPY . /src
RUN /opt/sr/bin/pip install --no-cache-dir --config-settings=setup-args=-Dtool=enabled --config-settings=setup-args=-Dserve=enabled /src

FROM debian:12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 libgrpc++1.51 libssl3 python3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/sr /opt/sr
ENV PATH=/opt/sr/bin:$PATH
ENTRYPOINT ["sr"]
CMD ["--help"]
