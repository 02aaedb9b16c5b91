"""Clients of share groups, judged from two sides: what they send, and what their application sees.

campaign    random scripts, each run against a broker; what is found is shrunk
  scripts   what an application and the broker do, as values; drawn at random
  play      runs a script: a broker of ``serve``, a client behind a driver, and a journal
    broker, journal, drivers, process; transactions: batches that no producer may send
  judge     a pure function from a journal to violations of duties
    held, sessions, membership     records in the client's hands; session epochs; heartbeats
  exercise, stakes  how often what the duties are about has happened, and each was at stake
  known     known violations, from a file
  duties    the register: each duty with its sentence
  events    what a journal holds
"""
