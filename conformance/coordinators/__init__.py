"""The kits for coordinators: the share coordinator and the share part of the group coordinator.

Each runs in this machine's memory and in virtual time, behind a driver that speaks JSON lines:

- ``group_asks``, ``group_generate``: what the kit may ask of a group coordinator, and at random;
- ``group_reply``: what it answers; ``group_belief``, ``group_judge``: what is known, and the rules;
- ``group_scene``, ``group_kit``: a sequence, and the kit.
"""
