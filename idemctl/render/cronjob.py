"""CronJobs for Kubernetes, with the volume claim that each one's history lives on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemctl.operations.schedule import Job, Outcome

_CONFIG = "/etc/idemctl/idemctl.yaml"


def cronjobs(outcome: Outcome, statuses: str) -> list[tuple[str, str]]:
    """Write what is common as comments, then two documents for each store."""
    here = outcome.premises
    secret = " ".join(f"--from-literal={name}=..." for name in here.variables)
    head = (
        f"# kubectl create configmap idemctl --from-file=idemctl.yaml={here.config}\n"
        f"# kubectl create secret generic idemctl {secret}\n"
    )
    if here.files:
        names = ", ".join(map(str, here.files))
        head += f"# The configuration names files, which have to be mounted too: {names}\n"
    return [
        ("head", head + statuses),
        *((job.name, _documents(outcome, job)) for job in outcome.jobs),
    ]


def _documents(outcome: Outcome, job: Job) -> str:
    words = ["gc", "--apply", "--config", _CONFIG, *job.words]
    return _TEXT.format(
        name=job.name,
        cron=job.cron,
        deadline=int(outcome.period.length.total_seconds()),
        image=json.dumps(outcome.image, ensure_ascii=False),
        words=json.dumps(words),
    )


_TEXT = """\
---
# The brakes compare a run with earlier ones: without a history that outlives the pod they
# cannot tell what is usual.
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {name}
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 1Gi
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {name}
spec:
  schedule: "{cron}"
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: {deadline}
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 3
  jobTemplate:
    spec:
      # The next run goes on where this one ended; the same one again would meet the same guard.
      backoffLimit: 0
      activeDeadlineSeconds: {deadline}
      template:
        spec:
          restartPolicy: Never
          automountServiceAccountToken: false
          securityContext:
            runAsNonRoot: true
            runAsUser: 10001
            fsGroup: 10001
            seccompProfile:
              type: RuntimeDefault
          containers:
            - name: gc
              image: {image}
              command: [idemctl]
              args: {words}
              env:
                # Below the mount, which belongs to root: idemctl keeps its own folder private.
                - name: IDEMCTL_STATE
                  value: /var/lib/idemctl/state
              envFrom:
                - secretRef:
                    name: idemctl
              securityContext:
                allowPrivilegeEscalation: false
                readOnlyRootFilesystem: true
                capabilities:
                  drop: [ALL]
              resources:
                requests: {{cpu: 100m, memory: 128Mi}}
                limits: {{memory: 512Mi}}
              volumeMounts:
                - name: history
                  mountPath: /var/lib/idemctl
                - name: configuration
                  mountPath: /etc/idemctl
                  readOnly: true
          volumes:
            - name: history
              persistentVolumeClaim:
                claimName: {name}
            - name: configuration
              configMap:
                name: idemctl
"""
