"""Whether the implementation refines the specification, for every state of a small size.

A step of the implementation must do to its arrays what the specification does to the value for
which they stand: spec after abstraction is abstraction after impl. What arrays stand for is their
whole state (``model.whole_state``); ``arrays`` makes them. ``states`` has the states of a size, and
``steps`` what is done in each; ``check`` compares; ``families`` lists the sizes. Of larger states
nothing is shown here.
"""
