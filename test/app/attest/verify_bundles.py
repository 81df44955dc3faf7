"""Verifies attestations by Python's cryptography: verify_bundles.py PUBLIC_KEY FILE...

Prints one JSON object a file: whether it holds, and the numbers of the lines that decide nothing.
"""
import base64
import hashlib
import json
import re
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

TYPE = "application/vnd.in-toto+json"
RUN = "urn:factory:attestation:run:v1"
TESTS = "https://in-toto.io/attestation/test-result/v0.1"


def no_constant(name):
    raise ValueError(name)


def statement(line, key, keyid):
    envelope = json.loads(line.decode("utf-8"))
    signature = envelope["signatures"][0]
    payload, sig = (base64.b64decode(text, validate=True) for text in (envelope["payload"], signature["sig"]))
    spelled = {
        "payloadType": TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": keyid, "sig": base64.b64encode(sig).decode()}],
    }
    if json.dumps(spelled, separators=(",", ":")).encode() != line:
        raise ValueError("spelling or key")
    key.verify(sig, b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload))
    value = json.loads(payload.decode("utf-8"), parse_constant=no_constant)
    if value["_type"] != "https://in-toto.io/Statement/v1":
        raise ValueError("type")
    return value, hashlib.sha256(payload).hexdigest()


def product(value):
    found = {"gitCommit": [], "gitTree": []}
    if not isinstance(value["subject"], list):
        raise ValueError("subject")
    for subject in value["subject"]:
        ((kind, digest),) = subject["digest"].items()
        if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", digest):
            raise ValueError("digest")
        found[kind].append(digest)
    if len(found["gitTree"]) != 1 or len(found["gitCommit"]) > 1:
        raise ValueError("subjects")
    return found


def holds(runs, tests):
    ((run, _),) = runs
    predicate = run["predicate"]
    if predicate["schema_version"] != 1 or not isinstance(predicate["run"]["id"], str):
        raise ValueError("form")
    named = predicate["test_result"]
    if len(tests) != (0 if named is None else 1):
        raise ValueError("tests")
    for test, digest in tests:
        if digest != named["sha256"] or product(test) != product(run):
            raise ValueError("tests of another run")
    product(run)


def verify(data, key, keyid):
    found, others = {RUN: [], TESTS: []}, []
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            value, digest = statement(line, key, keyid)
            found[value["predicateType"]].append((value, digest))
        except (ValueError, KeyError, TypeError, IndexError, InvalidSignature):
            others.append(number)
    try:
        holds(found[RUN], found[TESTS])
        return {"holds": True, "others": others}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {"holds": False, "others": others}


def main(public, *files):
    with open(public, "rb") as file:
        key = load_pem_public_key(file.read())
    keyid = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()
    for name in files:
        with open(name, "rb") as file:
            print(json.dumps(verify(file.read(), key, keyid)))


main(*sys.argv[1:])
