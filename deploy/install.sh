#!/bin/sh
# Install Moot with the versions that were tested, each by its hash, from the folder above this one. Run by the Dockerfile.
set -eu
cd "$(dirname "$0")/.."
python -m pip install --no-cache-dir --no-deps --require-hashes -r deploy/requirements.lock
python -m pip install --no-cache-dir --no-deps .
python -m pip check
