"""The kits for coordinators: the share coordinator and the share part of the group coordinator.

Each runs in this machine's memory and in virtual time, behind a driver that speaks JSON lines:

- ``target``: a coordinator behind its driver; ``named``: those that the kit starts itself.
"""
