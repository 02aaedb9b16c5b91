"""Verification of cores: implementations of one share-partition, asked in virtual time.

- ``asks``: what the kit may ask of a share-partition, free of numbers that depend on its past;
- ``protocol``: the messages between the kit and an implementation under test;
- ``target``, ``process``, ``kafka``, ``builtin``: implementations, out and inside;
- ``acknowledgements``: the batches of a request;
- ``scene``: the log, the clock and the judge around one implementation; ``transactions``: a fetch
  that meets aborted transactions, as the judge sees it;
- ``generate``, ``kit``: random asks of such an implementation, and simpler ones.
"""
