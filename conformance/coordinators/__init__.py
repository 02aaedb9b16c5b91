"""The kits for coordinators: the share coordinator and the share part of the group coordinator.

Each runs in this machine's memory and in virtual time, behind a driver that speaks JSON lines:

- ``group_asks``, ``group_generate``: what the kit may ask of a group coordinator, and at random;
- ``group_reply``: what it answers; ``group_belief``: what is known;
- ``group_judge``, ``group_admin``, ``group_checks``: the rules;
- ``group_causes``: what tells deviations of one rule apart;
- ``group_scene``, ``group_kit``: a sequence, and the kit;
- ``share_java``, ``group_java``: deviations as JUnit tests.
"""
