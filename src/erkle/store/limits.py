"""Every size limit, once: what the store keeps, and what the service and the files of a study may say.

Texts are measured in characters, JSON in the characters that it takes when written, times in microseconds since 1970.
"""

ID = 64  # Ids and tokens.
TITLE = 500  # The title of a study.
OBJECTS = 10_000  # Objects of a study.
OBJECT_NAME = 2000  # The name of an object, which may be a sentence or a path.
MARKDOWN = 20_000  # Texts that are shown as Markdown, and the text of an object.
URL = 2000  # An address that a page links to.
CODE = 200  # A completion code.
MEDIA_NAME = 200  # The name of a medium.
MEDIA_TYPE = 100  # The MIME type of a medium.
ACCOUNT_NAME = 200  # The name of an account.
PASSWORD_HASH = 1000  # What is kept of a password.
PARAMETERS = 4000  # Parameters of the link that a participant followed, as JSON.
PARAMETER_NAME = 100  # The name of one of these parameters.
IDENTITY = 200  # What two visits of the same person have in common; of a longer one a digest is kept.
LABEL = 2000  # What an imported file calls a participant.
STRATEGY = 500  # How a question was chosen, in words.
CLIENT = 2000  # What a browser reports with an answer, as JSON.
SKIP_REASON = 500  # Why a participant skipped a question, in their words.
REFUSALS = 10_000  # Refusals that are kept of a study.
REFUSED = 1000  # What is kept of each refusal, as JSON.
JSON_DEPTH = 20  # Levels of JSON from outside; deeper ones become text. Readers of JSON refuse hundreds of levels.
RESPONSE_MS = 86_400_000  # One day. A longer response time comes from a clock that was set in between.
LIFETIME_SECONDS = 1e9  # How long a question, a session or a link lasts: about 30 years.
LEASE_OWNER = 200  # The owner of a lease.
LEASE_SECONDS = 60.0  # The longest lease.
LATEST = 253_402_300_799_999_999  # The end of the year 9999, beyond which Python has no dates.
SEQUENCE = 2**53  # The largest whole number that every reader of JSON holds exactly.
