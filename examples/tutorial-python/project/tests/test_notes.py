import os
import tempfile
import unittest

import notes


class Notes(unittest.TestCase):
    def test_a_note_is_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "notes.txt")
            notes.add(path, "buy  pears")
            notes.add(path, "call Ada")
            self.assertEqual(notes.read(path), ["buy pears", "call Ada"])

    def test_a_missing_file_has_no_notes(self):
        self.assertEqual(notes.read("/nowhere/notes.txt"), [])


if __name__ == "__main__":
    unittest.main()
