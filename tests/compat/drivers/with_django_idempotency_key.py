"""Lives through requests of djangorestframework-idempotency-key, by its middleware."""

from __future__ import annotations

import os
import signal
import uuid
from typing import TYPE_CHECKING

from driver import run, set_up_django

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from driver import Told

set_up_django(
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "rest_framework_idempotency_key",
    ALLOWED_HOSTS=["*"],
    IDEMPOTENCY_KEY_LOCK_TIMEOUT=90,
)


def handle(request: HttpRequest) -> HttpResponse:
    """Do the work of a request, as a view that is decorated would."""
    from django.http import JsonResponse
    from rest_framework_idempotency_key.middleware import IdempotencyKeyMiddleware
    from rest_framework_idempotency_key.models import (
        IDEMPOTENCY_RECOVERY_POINT_FINISHED,
        IDEMPOTENCY_RECOVERY_POINT_STARTED,
    )

    def act() -> tuple[int, object, str]:
        match request.body:
            case b"fail":
                raise ZeroDivisionError
            case b"crash":
                os.kill(os.getpid(), signal.SIGKILL)
        return 201, {"done": True}, IDEMPOTENCY_RECOVERY_POINT_FINISHED

    code, body, _ = IdempotencyKeyMiddleware.proceed(
        request.idempotency_key, {IDEMPOTENCY_RECOVERY_POINT_STARTED: act}
    )
    return JsonResponse({"body": body}, status=code)


def ask(key: str, body: bytes) -> int:
    from django.test import RequestFactory
    from rest_framework_idempotency_key.middleware import IdempotencyKeyMiddleware

    request = RequestFactory().post(
        "/v1/pay", body, content_type="text/plain", headers={"Idempotency-Key": key}
    )
    return IdempotencyKeyMiddleware(handle)(request).status_code


def begin(key: str) -> None:
    from django.db import connection

    # A process of its own has a connection of its own.
    connection.close()
    ask(key, b"crash")


def live(told: Told) -> None:
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    for _ in range(5):
        key = str(uuid.uuid4())
        assert ask(key, b"work") == ask(key, b"work") == 201
        told.has("postgres", key, "completed")
    # The same key comes again with another body.
    assert ask(key, b"other work") == 409
    # What an exception leaves may be run again; it is not done.
    key = str(uuid.uuid4())
    try:
        ask(key, b"fail")
    except ZeroDivisionError:
        told.has("postgres", key, "in_progress")
    connection.close()
    told.crash("postgres", str(uuid.uuid4()), "in_progress", begin)


run(live)
