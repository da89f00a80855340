# What an agent sees: the buggy library where pip would put it, and documentation, upstream tests and a link to the library
# in /workspace.
ARG BASE
FROM ${BASE}
ARG SITE_PACKAGES
ADD tree.tar ${SITE_PACKAGES}/
ADD workspace.tar /workspace/
