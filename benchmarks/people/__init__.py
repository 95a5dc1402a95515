"""People's answers: what the learner that needs no tuning reaches, beside the best that hindsight could choose."""
