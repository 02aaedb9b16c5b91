"""The generated parts of the documents.

- ``parts``: a part between two markers;
- ``coverage``: what the KIPs name, and what covers it;
- ``properties``: what is proved; ``findings``: what was found in other implementations.
"""
