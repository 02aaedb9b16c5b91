"""Tests in Java that fail with the released Apache Kafka, each for one fault in docs/findings."""
