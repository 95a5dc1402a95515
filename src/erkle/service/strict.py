"""The base of all models of input: unknown keys are refused, values are not converted, and errors stay few.

Pydantic reports each unknown key. Errors about 100,000 of them would take most of a second, in which nobody else is
served. A mapping with many more keys than a model has is therefore a single error.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

# Keys of a mapping. No model has half as many.
MOST_KEYS = 30
TOO_MANY_KEYS = "too_many_keys"


class Strict(BaseModel):
    """A model of input.

    >>> Strict.model_validate(dict.fromkeys(map(str, range(100_000))))
    Traceback (most recent call last):
    pydantic_core._pydantic_core.ValidationError: 1 validation error for Strict
      It has 100000 keys; use at most 30 ...
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _has_few_keys(cls, values: Any) -> Any:
        if isinstance(values, dict) and len(values) > MOST_KEYS:
            context = {"found": len(values), "most": MOST_KEYS}
            raise PydanticCustomError(TOO_MANY_KEYS, "It has {found} keys; use at most {most}", context)
        return values
