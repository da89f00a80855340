# Any image with Python 3.12 or newer, made fit for a sandbox: /opt/venv, a user, and no package that might be the
# library under test. Needs no network.
ARG BASE
FROM ${BASE}
USER root
RUN set -eu; \
    python="$(command -v python3)"; \
    [ -x /opt/venv/bin/python ] || "$python" -m venv --without-pip /opt/venv; \
    "$python" -m compileall -q --invalidation-mode unchecked-hash -x '/(test|idlelib|site-packages|dist-packages)/' \
        "$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" || true; \
    rm -rf /usr/local/lib/python3*/site-packages/* /usr/lib/python3*/dist-packages/* /usr/local/lib/python3*/dist-packages/* \
        /usr/lib/python3*/ensurepip/_bundled /usr/local/lib/python3*/ensurepip/_bundled /usr/share/python-wheels \
        /usr/local/bin/pip* /root/.cache /var/lib/apt/lists/*; \
    grep -q '^[^:]*:[^:]*:1000:' /etc/passwd \
        || { echo 'agent:x:1000:1000:agent:/tmp:/bin/sh' >> /etc/passwd; echo 'agent:x:1000:' >> /etc/group; }; \
    mkdir -p /workspace; chown 1000:1000 /workspace
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 LC_ALL=C.UTF-8 TZ=UTC
WORKDIR /workspace
ENTRYPOINT []
CMD ["/bin/bash"]
