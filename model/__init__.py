"""The vocabulary of share groups: values without behaviour, validated when they are made.

Everything else imports from here and this package imports nothing of the project.
"""
