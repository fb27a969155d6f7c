"""Consent to write: a yes, and for a protected store its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from idemctl.cli.operator import agree, answer
from idemctl.cli.options import option
from idemctl.errors import Declined, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from idemctl.cli.verb import Work

Confirm = Annotated[
    str | None,
    option(
        "--confirm",
        env=False,
        help="with --yes, for a protected store: its name once more",
        metavar="NAME",
    ),
]


def protected_among(work: Work, stores: Sequence[str]) -> str | None:
    """Give the one of some stores that is protected, if there is one.

    Raises:
        UsageError: there are several, and a name is typed for one.
    """
    configured = work.workplace.settings.chosen()
    protected = [name for name in stores if configured[name].protected]
    if len(protected) > 1:
        raise UsageError(
            f"{', '.join(protected)} are protected, and written to one at a time",
            hint=f"name one: --store {protected[0]}",
        )
    return protected[0] if protected else None


def refuse_unconfirmed(protected: str | None, confirm: str | None) -> None:
    """See to it that more than --yes was said where that is needed.

    Raises:
        UsageError: the store's name is missing, or another one.
    """
    if protected is not None and confirm != protected:
        raise UsageError(
            f"{protected} is protected: --yes alone is not enough",
            hint=f"add --confirm {protected}",
        )


def agree_to_write(
    work: Work, stores: Sequence[str], question: str, *, yes: bool, confirm: str | None
) -> None:
    """Get the operator's consent, by flags or on the terminal.

    Raises:
        UsageError: a flag is missing, and there is nobody to ask.
        Declined: the operator said no, or nothing, or another name.
        Stopped: by a signal.
    """
    if confirm is not None and confirm not in stores:
        raise UsageError(
            f"--confirm {confirm} names another store than {', '.join(stores)}",
            hint="check --store: nothing was changed",
        )
    protected = protected_among(work, stores)
    if yes:
        refuse_unconfirmed(protected, confirm)
    elif protected is None:
        agree(question, instead="--yes", stop=work.run.stop)
    else:
        prompt = f"{question} {protected} is protected; type its name: "
        instead = f"--yes --confirm {protected}"
        if answer(prompt, instead=instead, stop=work.run.stop) != protected:
            raise Declined("nothing was changed")


def agree_severely(work: Work, name: str, question: str, *, confirm: str | None) -> None:
    """Get consent to what cannot be taken back: a name, typed or given.

    Raises:
        UsageError: --confirm names something else, or there is nobody to ask.
        Declined: the operator typed something else, or nothing.
        Stopped: by a signal.
    """
    if confirm is None:
        prompt = f"{question} type its name: "
        if answer(prompt, instead=f"--confirm {name}", stop=work.run.stop) != name:
            raise Declined("nothing was changed")
    elif confirm != name:
        raise UsageError(
            f"--confirm {confirm} names another than {name}", hint="nothing was changed"
        )
