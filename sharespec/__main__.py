"""``python -m sharespec``, and the file that ``spark-submit`` runs."""

from sharespec.cli import main

if __name__ == "__main__":
    main()
