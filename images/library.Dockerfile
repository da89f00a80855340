# Run-time dependencies of one library, pytest and hypothesis; not the library itself.
ARG BASE
FROM ${BASE}
ADD venv.tar /opt/venv/
