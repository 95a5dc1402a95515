"""Studies with media, created as uploads create them."""


def study_with_media(store, title, objects, settings=None, owner=None, *, media):
    """Create a study with these media and return it."""
    with store.unfinished.create(title, objects, settings, owner) as study:
        store.unfinished.add_media(study.id, media)
    return study
