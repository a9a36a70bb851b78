#!/usr/bin/env python3
"""An extension without a library: HTTP, JSON, and a loop in place of watches.

It reconciles Extensions of type audit. Each shoot has an id that only the state knows, a Secret, and a ManagedResource
of the shoot. The order of the writes is that of docs/specification/extensions.md#spec-3-4.
"""

import base64
import datetime
import http.client
import json
import os
import re
import ssl
import time
import urllib.parse
import uuid

TYPE, NAME, FINALIZER = "audit", "audit", "extensions.gardener.cloud/audit"
OPERATION = "gardener.cloud/operation"
EXTENSIONS = "/apis/extensions.gardener.cloud/v1alpha1"
MANAGED = "/apis/resources.gardener.cloud/v1alpha1"
MERGE = "application/merge-patch+json"


class Refused(Exception):
    """An answer of the API server that is no success."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class API:
    """The API server of the kubeconfig, as the user of its only context."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            content = file.read()
        field = lambda name: re.search(rf"^\s+{name}: (\S+)$", content, re.MULTILINE).group(1)
        self.host = urllib.parse.urlparse(field("server")).netloc
        self.token = field("token")
        authority = base64.b64decode(field("certificate-authority-data")).decode()
        self.tls = ssl.create_default_context(cadata=authority)
        self.connection = None

    def __call__(self, method, path, body=None, kind="application/json"):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.host, timeout=10, context=self.tls)
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body),
                                    {"Authorization": f"Bearer {self.token}", "Content-Type": kind})
            answer = self.connection.getresponse()
            content = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.connection.close()
            self.connection = None
            raise
        if answer.status >= 300:
            raise Refused(answer.status, content.get("message", ""))
        return content

    def unless(self, code, *request, **more):
        """Makes a request, of which one answer is as good as a success. It returns None for that."""
        try:
            return self(*request, **more)
        except Refused as refused:
            if refused.code != code:
                raise
            return None


class Work:
    """An object in work."""

    def __init__(self, api, obj):
        self.api, self.obj = api, obj
        self.namespace = obj["metadata"]["namespace"]
        self.path = f"{EXTENSIONS}/namespaces/{self.namespace}/extensions/{obj['metadata']['name']}"
        self.secret = f"/api/v1/namespaces/{self.namespace}/secrets"
        self.managed = f"{MANAGED}/namespaces/{self.namespace}/managedresources"

    def metadata(self, **change):
        """Changes the metadata, unless somebody else has changed the object."""
        change["resourceVersion"] = self.obj["metadata"]["resourceVersion"]
        self.obj = self.api("PATCH", self.path, {"metadata": change}, MERGE)

    def status(self, kind, result, error=None, **more):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        more["lastOperation"] = {"type": kind, "state": result, "progress": 100 if result == "Succeeded" else 50,
                                 "lastUpdateTime": now, "description": f"{kind} {result}"}
        if result != "Processing":
            more["observedGeneration"] = self.obj["metadata"]["generation"]
            more["lastError"] = {"description": error} if error else None
        self.obj = self.api("PATCH", self.path + "/status", {"status": more}, MERGE)

    def answer(self):
        if OPERATION in self.obj["metadata"].get("annotations", {}):
            self.metadata(annotations={OPERATION: None})

    def finalizer(self, wanted):
        there = self.obj["metadata"].get("finalizers", [])
        if (FINALIZER in there) != wanted:
            others = [one for one in there if one != FINALIZER]
            self.metadata(finalizers=others + [FINALIZER] if wanted else others)

    def ensure(self, kind):
        """Also restores: the state that the gardenlet has brought is in the status then."""
        if kind != "Restore":
            self.answer()
        self.finalizer(True)
        self.status(kind, "Processing")
        state = self.obj["status"].get("state")
        if not state:  # before anything is made of it
            state = {"id": str(uuid.uuid4())}
            self.status(kind, "Processing", state=state)
        config = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": state,
                             "metadata": {"name": NAME, "namespace": "kube-system"}})
        self.api.unless(409, "POST", self.secret, {"metadata": {"name": NAME}, "stringData": {"config.yaml": config}})
        self.api.unless(409, "POST", self.managed, {
            "apiVersion": "resources.gardener.cloud/v1alpha1", "kind": "ManagedResource", "metadata": {"name": NAME},
            "spec": {"secretRefs": [{"name": NAME}]}})
        self.status(kind, "Succeeded")
        self.answer()

    def discard(self, keep):
        """Says whether what is on this seed is gone."""
        one = f"{self.managed}/{NAME}"
        if keep:
            self.api.unless(404, "PATCH", one, {"spec": {"keepObjects": True}}, MERGE)
        self.api.unless(404, "DELETE", one)
        if self.api.unless(404, "GET", one):
            return False  # the resource manager is at work
        self.api.unless(404, "DELETE", f"{self.secret}/{NAME}")
        return True

    def release(self, again):
        if not again:
            self.status("Migrate", "Processing")
            if not self.discard(keep=True):
                return
            self.status("Migrate", "Succeeded")
        self.finalizer(False)
        self.answer()

    def remove(self):
        if FINALIZER in self.obj["metadata"].get("finalizers", []) and self.discard(keep=False):
            self.finalizer(False)

    def has_failed(self):
        """Says whether the shoot waits for its owner."""
        shoot = self.api("GET", f"{EXTENSIONS}/clusters/{self.namespace}")["spec"]["shoot"]
        return shoot.get("status", {}).get("lastOperation", {}).get("state") == "Failed"

    def due(self):
        """What the object is due for: the type of an operation; empty for none."""
        metadata, last = self.obj["metadata"], self.obj.get("status", {}).get("lastOperation", {})
        asked, done = metadata.get("annotations", {}).get(OPERATION), last.get("state") == "Succeeded"
        if asked == "wait-for-state":
            return ""
        if asked == "migrate":
            return "Migrate"
        if done and last["type"] == "Migrate" and asked != "restore":
            return ""  # it is another seed's
        if "deletionTimestamp" in metadata:
            return "Delete"
        if asked == "restore":
            return "Restore"
        if not last:
            return "Create"
        if not done:
            return last["type"]
        return "Reconcile" if asked == "reconcile" else ""

    def serve(self):
        kind = self.due()
        if not kind or self.has_failed():
            return
        last = self.obj.get("status", {}).get("lastOperation", {})
        try:
            if kind == "Migrate":
                self.release(again=last.get("type") == "Migrate" and last.get("state") == "Succeeded")
            elif kind == "Delete":
                self.remove()
            else:
                self.ensure(kind)
        except Refused as refused:
            if refused.code not in (404, 409):  # the object is gone or another one; the next round sees it as it is
                self.status(kind, "Error", error=str(refused))
            raise


def main():
    api = API(os.environ["KUBECONFIG"])
    while True:
        try:
            for obj in api("GET", EXTENSIONS + "/extensions")["items"]:
                try:
                    if obj["spec"]["type"] == TYPE:
                        Work(api, obj).serve()
                except (OSError, http.client.HTTPException, Refused) as failed:
                    print(f"{obj['metadata']['namespace']}: {failed!r}", flush=True)
        except (OSError, http.client.HTTPException, Refused) as failed:
            print(f"list the Extensions: {failed!r}", flush=True)
        time.sleep(0.3)


if __name__ == "__main__":
    main()
