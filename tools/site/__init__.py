"""The documentation as a site: the documents, and the specification beside the KIPs' sentences.

- ``documents``: the documents of the repository, with links that lead somewhere in the site;
- ``rules``: a page for each module of ``spec``, and one for each KIP, with links both ways.
"""
