"""The self-tuning learner on people's answers, compared with the best settings in hindsight."""
