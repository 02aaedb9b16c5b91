"""Judging share-partitions from outside: from requests and answers, without the leader's state.

1. ``observation``: what a request shows of one share-partition, with the interval of time in which
   it took effect; facts are what concerns many share-partitions.
2. ``record``: the configurations in which one record may be, and how requests and hidden events
   change them by the rules of ``spec.record``; ``spans`` keeps them by ranges of offsets.
3. ``judge`` goes through the observations in time. Where no configuration of a record explains an
   answer, no legal broker gave it; ``bundle`` asks whether something unseen explains it.

A record is judged by itself, as linearizability is judged by key: what a whole share-partition may
do, each of its records may do, so a legal broker is never wronged.
"""
