"""The specification as a Kafka broker for share groups, on a socket.

server      connections: frames, limits, and what becomes of rubbish
  apis      which APIs are served, in which versions, and by which function
    share_api, group_api, topic_api, produce_api, config_api: requests and responses
      node    what the broker holds: topics, groups, and ``spec.share_broker`` as a value
        record_log, batches, assignor, members, settings, tracing
        rare: what is allowed and unusual, armed to happen once; witness: who is told of requests

Every answer about a share session is computed by ``spec``; this package keeps the records, the
members of groups and the clock.
"""
