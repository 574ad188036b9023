"""Plan, compute and publish the results of an experiment."""
