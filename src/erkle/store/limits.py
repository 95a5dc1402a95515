"""Every size limit, once: what the store keeps, and what the service and the files of a study may say.

Texts are measured in characters, JSON in the characters that it takes when written, times in microseconds since 1970.
"""

__all__ = [
    "ACCOUNT_NAME",
    "CLIENT",
    "CODE",
    "ID",
    "IDENTITY",
    "JSON_DEPTH",
    "LATEST",
    "LEASE_OWNER",
    "LEASE_SECONDS",
    "LIFETIME_SECONDS",
    "MARKDOWN",
    "MEDIA_NAME",
    "MEDIA_TYPE",
    "OBJECTS",
    "OBJECT_NAME",
    "PARAMETERS",
    "PARAMETER_NAME",
    "PASSWORD_HASH",
    "REFUSALS",
    "REFUSED",
    "RESPONSE_MS",
    "SEQUENCE",
    "SKIP_REASON",
    "STRATEGY",
    "TITLE",
    "URL",
]  # fmt: skip

# Ids and tokens.
ID = 64
# The title of a study.
TITLE = 500
# Objects of a study.
OBJECTS = 10_000
# The name of an object, which may be a whole sentence or a path; also the label of an imported participant.
OBJECT_NAME = 2000
# Texts that are shown as Markdown, and the text of an object.
MARKDOWN = 20_000
# An address that a page links to.
URL = 2000
# A completion code.
CODE = 200
# The name and the MIME type of a medium.
MEDIA_NAME = 200
MEDIA_TYPE = 100
# The name of an account.
ACCOUNT_NAME = 200
# What is kept of a password.
PASSWORD_HASH = 1000
# Parameters of the link that a participant followed, as JSON, and the name of one of them.
PARAMETERS = 4000
PARAMETER_NAME = 100
# What two visits of the same person have in common; of a longer one a digest is kept.
IDENTITY = 200
# How a question was chosen, in words.
STRATEGY = 500
# What a browser reports with an answer, as JSON.
CLIENT = 2000
# Why a participant skipped a question, in their words.
SKIP_REASON = 500
# Refusals kept per study, and what is kept of each as JSON.
REFUSALS = 10_000
REFUSED = 1000
# Levels of JSON from outside; deeper ones become text. Readers of JSON refuse hundreds of levels.
JSON_DEPTH = 20
# One day. A longer response time comes from a clock that was set in between.
RESPONSE_MS = 86_400_000
# Seconds in which a question can be answered: about 30 years.
LIFETIME_SECONDS = 1e9
# The owner of a lease, and the longest lease in seconds.
LEASE_OWNER = 200
LEASE_SECONDS = 60.0
# The end of the year 9999, beyond which Python has no dates.
LATEST = 253_402_300_799_999_999
# The largest whole number that every reader of JSON holds exactly.
SEQUENCE = 2**53
