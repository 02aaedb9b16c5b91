# sharespec in a container.
#
#   docker build --tag sharespec .
#   docker run --rm --volume "$PWD:/work" sharespec replay trace.jsonl
#
# --build-arg EXTRAS='[spark,prove]' installs extras (README.md, Commands).

FROM python:3.11-slim AS build
WORKDIR /build
COPY . .
RUN PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
    pip wheel --no-cache-dir --no-deps --wheel-dir wheels .

FROM python:3.11-slim
ARG EXTRAS=
COPY --from=build /build/constraints.txt /build/wheels/ /tmp/sharespec/
RUN cd /tmp/sharespec && PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
    pip install --no-cache-dir "$(ls sharespec-*.whl)$EXTRAS" && rm -r /tmp/sharespec
RUN useradd --create-home sharespec
USER sharespec
# To compile takes half a minute; what is compiled is kept.
RUN cd && sharespec generate small --partitions 1 --events 100 && \
    NUMBA_DISABLE_JIT=0 sharespec replay small --against impl && rm -r small
WORKDIR /work
ENTRYPOINT ["sharespec"]
