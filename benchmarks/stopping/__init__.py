"""The accuracy of `answers_needed`: forecasts on simulated studies, compared with what the studies really needed."""
