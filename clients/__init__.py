"""Clients of share groups, judged from two sides: what they send, and what their application sees.

kit         what ``conformance.campaign`` needs: random scripts, played and judged as a whole
  scripts   what an application and the broker do, as values; drawn at random
  play      runs a script: a broker of ``serve``, a client behind a driver, and a journal
    broker, journal, drivers; odd_batches: what no producer may send
  judge     a pure function from a journal to violations of duties
    held, sessions, membership, leadership, liveness     what of a client it follows
    cause   what is odd about a violation
  stakes    how often each duty was at stake
  duties    the register: each duty with its sentence
  events    what a journal holds
"""
