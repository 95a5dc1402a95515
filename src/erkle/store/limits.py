"""All size limits of the store, the service and study files, in one place.

Limits on what researchers write are numbers of characters. Limits on what participants send are numbers of stored
bytes: texts are measured in UTF-8, and JSON as it is stored.
"""

ID = 64  # An id or a token.
TITLE = 500  # The title of a study.
OBJECTS = 10_000  # The number of objects of a study.
OBJECT_NAME = 2000  # The name of an object; it can be a sentence or a path.
MARKDOWN = 20_000  # A text that is shown as Markdown, or the text of an object.
URL = 2000  # An address that a page links to.
CODE = 200  # A completion code.
MEDIA_NAME = 200  # The name of a medium.
MEDIA_TYPE = 100  # The MIME type of a medium.
FEATURE_NAME = 100  # The name of a block of features.
FEATURE_BLOCKS = 20  # The number of blocks of features of a study.
FEATURE_BYTES = 32 << 20  # Bytes of all features of a study: 10,000 vectors of 800 numbers in single precision.
ACCOUNT_NAME = 200  # The name of an account.
PASSWORD_HASH = 1000  # A password hash.
PARAMETERS = 4000  # Bytes of the parameters of the link that a participant followed, as JSON.
PARAMETER_NAME = 100  # The name of one parameter.
IDENTITY = 200  # Bytes of the identity of a participant; a longer one is replaced by a digest.
IMPORTED_ANSWERS = 2_000_000  # The number of answers, or of skips, in an imported file.
IMPORTED_PARTICIPANTS = 200_000  # The number of participants in an imported bundle.
LABEL = 2000  # The label of a participant in an imported file.
STRATEGY = 500  # The description of how a question was chosen.
CLIENT = 2000  # Bytes of other data that a browser sends with an answer, as JSON.
SKIP_REASON = 500  # Bytes of the reason why a participant skipped a question.
REFUSALS = 10_000  # The number of refusals that are recorded per study.
REFUSED = 1000  # Bytes of the recorded content of a refusal, as JSON.
PARTICIPANT_ROW = 300  # Bytes that a participant takes in the tables and indexes, besides what they send.
QUESTION_ROW = 300  # The same for a question with its answer. `test_store_usage.py` compares both with a database.
IMPORTED_ROW = 1000  # Bytes of an imported answer with its question in the tables and indexes, generously.
JSON_DEPTH = 20  # Levels of nested JSON from a browser. Deeper levels become text: parsers refuse hundreds of them.
RESPONSE_MS = 86_400_000  # The longest response time: one day. A longer one means that a clock was changed in between.
LIFETIME_SECONDS = 1e9  # The longest lifetime of a question, a session or a link: about 30 years.
LEASE_OWNER = 200  # The name of the owner of a lease.
LEASE_SECONDS = 60.0  # The longest lease: one minute.
LATEST = 253_402_300_799_999_999  # The latest time in microseconds since 1970: the end of 9999, Python's last year.
SEQUENCE = 2**53  # The largest sequence number: the largest integer that every JSON parser reads exactly.
