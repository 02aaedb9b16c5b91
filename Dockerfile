# sharespec in a container.
#
#   docker build --tag sharespec .
#   docker run --rm --volume "$PWD:/work" sharespec replay trace.jsonl --html page.html
#
# It runs as the owner of the folder that is mounted at /work, so that what it writes is theirs.
# --build-arg EXTRAS='[spark,prove]' installs extras (README.md, Commands).

FROM python:3.11-slim AS build
WORKDIR /build
COPY . .
RUN PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
    pip wheel --no-cache-dir --no-deps --wheel-dir wheels .

FROM python:3.11-slim
ARG EXTRAS=
WORKDIR /opt/sharespec
COPY --from=build /build/constraints.txt /build/tools/action/entrypoint.sh /build/wheels/ ./
RUN PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
    pip install --no-cache-dir "$(ls sharespec-*.whl)$EXTRAS" && rm *.whl
WORKDIR /home/sharespec
ENV HOME=/home/sharespec
# To compile takes half a minute; what is compiled is kept, for whoever it runs as.
RUN sharespec generate small --partitions 1 --events 100 && \
    NUMBA_DISABLE_JIT=0 sharespec replay small --against impl && rm -r small && chmod -R a+rwX .
WORKDIR /work
# Who it runs as where nothing is mounted.
RUN chown 1000:1000 .
ENTRYPOINT ["/opt/sharespec/entrypoint.sh"]
