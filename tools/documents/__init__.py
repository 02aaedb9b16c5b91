"""The generated parts of the documents (``python -m tools.documents``).

- ``generated``: every document with generated parts;
- ``parts``: a part between two markers;
- ``coverage``: what the KIPs name, and what covers it;
- ``properties``: what is proved; ``findings``: deviations of other implementations;
"""
