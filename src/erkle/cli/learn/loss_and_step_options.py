"""Losses and steps as people write them on the command line: a name, and its settings behind a colon."""

from typing import Any

from erkle.losses import LOSSES, Loss, check_loss
from erkle.steps import STEPS, Step, check_step, margin_of_probability

__all__ = ["loss_from_text", "step_from_text"]


def loss_from_text(text: str) -> Loss:
    """A loss.

    >>> loss_from_text("ckl:mu=0.1")
    CKL(mu=0.1)
    """
    loss: Loss = check_loss(_part(text, LOSSES, "loss"))
    return loss


def step_from_text(text: str) -> Step:
    """A step; passive-aggressive ones also take a probability in place of the margin.

    >>> step_from_text("pa1:C=0.1")
    PassiveAggressiveI(margin=1.0, C=0.1)
    """
    step: Step = check_step(_part(text, STEPS, "step"))
    return step


def _part(text: str, known: dict[str, type[Any]], kind: str) -> Any:
    name, _, settings = text.partition(":")
    name = name.strip().lower()
    if name not in known:
        raise ValueError(f"--{kind} is {name!r}; pass one of {', '.join(known)}.")
    part = known[name]
    spellings = {field.lower(): field for field in part._fields}
    if kind == "step" and "margin" in spellings:
        spellings["probability"] = "probability"
    fields: dict[str, float] = {}
    for setting in filter(None, settings.split(",")):
        word, value = _field(setting, kind)
        if word not in spellings:
            has = f"takes {', '.join(spellings.values())}" if spellings else "takes no settings"
            raise ValueError(f"--{kind} {name} has no setting {word!r}; it {has}.")
        if spellings[word] in fields or {word, *fields} >= {"margin", "probability"}:
            raise ValueError(f"--{kind} {text} sets the same thing twice; give each setting once.")
        fields[spellings[word]] = value
    if "probability" in fields:
        fields["margin"] = margin_of_probability(fields.pop("probability"))
    return part(**fields)


def _field(setting: str, kind: str) -> tuple[str, float]:
    name, _, value = setting.partition("=")
    try:
        return name.strip().lower(), float(value)
    except ValueError:
        raise ValueError(f"--{kind} has the setting {setting!r}; write it as name=number.") from None
