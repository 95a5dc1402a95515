"""Speed and accuracy claims, each measured in one run and repeated by `make bench`."""
