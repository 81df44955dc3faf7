"""Notes in a text file, one to a line: notes.py FILE add TEXT | list"""

import sys


def read(path):
    """The notes in the file; none where there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def add(path, text):
    """Adds a note at the end of the file."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(" ".join(text.split()) + "\n")


def main(arguments):
    """Carries out a command. Returns its exit code."""
    match arguments:
        case [path, "add", *words] if words:
            add(path, " ".join(words))
        case [path, "list"]:
            for number, note in enumerate(read(path), 1):
                print(f"{number}  {note}")
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
