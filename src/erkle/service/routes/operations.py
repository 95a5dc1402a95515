"""What operators look at: whether the service works, and how much it does."""

from fastapi import APIRouter

from erkle.service.dependencies import StoreDep

__all__ = ["router"]

router = APIRouter(tags=["operations"])


@router.get("/health")
def health(store: StoreDep) -> dict[str, str]:
    """Whether the database answers."""
    store.studies()
    return {"status": "ok"}
