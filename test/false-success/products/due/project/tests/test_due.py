import subprocess
import sys
import unittest


def due(*args):
    done = subprocess.run([sys.executable, 'due.py', *args], capture_output=True, text=True)
    return done.returncode, done.stdout.strip()


class Due(unittest.TestCase):
    def test_add(self):
        self.assertEqual(due('add', '2026-03-09', '10d'), (0, '2026-03-19'))
        self.assertEqual(due('add', '2026-03-09', '1m'), (0, '2026-04-09'))

    def test_days(self):
        self.assertEqual(due('days', '2026-03-01', '2026-03-31'), (0, '30'))

    def test_workdays(self):
        self.assertEqual(due('workdays', '2026-03-09', '2026-03-13'), (0, '5'))

    def test_no_such_day(self):
        self.assertEqual(due('add', '2026-02-30', '1d'), (2, ''))
