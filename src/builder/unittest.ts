/** Runs Python's tests without pytest: every test file is found, and finding no test is a failure. */

/** A Python program that needs no escapes inside double quotes. `python3 -m unittest discover` passes if it finds nothing,
 *  and it finds nothing in folders without `__init__.py`. Functions and classes written for pytest are run unless they
 *  need it; those that do are a failure instead of going untested. Two packages with the same name are each loaded from
 *  their own folder: Python keeps one per name, and would run the tests of the first twice. */
const program = `
import importlib, importlib.util, inspect, os, re, sys, unittest
sys.dont_write_bytecode = True
root = os.getcwd()
sys.path.insert(0, root)
suite = unittest.TestSuite()
def load(path, at, name):
    top = at
    while top != root and os.path.exists(os.path.join(top, '__init__.py')):
        name = os.path.basename(top) + '.' + name
        top = os.path.dirname(top)
    if top not in sys.path:
        sys.path.insert(0, top)
    if top != at:
        first = name.split('.')[0]
        place = os.path.realpath(os.path.join(top, first))
        if first in sys.modules and [os.path.realpath(p) for p in getattr(sys.modules[first], '__path__', [])] != [place]:
            for other in [m for m in sys.modules if m == first or m.startswith(first + '.')]:
                del sys.modules[other]
        sys.path.remove(top)
        sys.path.insert(0, top)
        return importlib.import_module(name)
    if name in sys.modules or name == 'test':
        name = 'in_' + re.sub('[^A-Za-z0-9]', '_', path)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
def add(where, call, takes):
    bare = [p for p in inspect.signature(call, follow_wrapped=False).parameters.values() if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if bare or takes or inspect.iscoroutinefunction(call) or inspect.isgeneratorfunction(call) or hasattr(call, 'pytestmark'):
        sys.exit(where + ' needs pytest, which python3 cannot import here: write it with unittest')
    suite.addTest(unittest.FunctionTestCase(call, description=where))
for at, folders, files in os.walk(root):
    folders[:] = sorted(f for f in folders if f[0] != '.' and f not in ('node_modules', '__pycache__', 'venv', 'vendor'))
    for file in sorted(f for f in files if re.fullmatch('(test_.*|.*_test|tests?)[.]py', f)):
        path = os.path.join(at, file)
        short = os.path.relpath(path, root)
        try:
            module = load(path, at, file[:-3])
        except unittest.SkipTest:
            continue
        except SystemExit:
            sys.exit(short + ' ends the program when it is imported, so its tests cannot be run')
        suite.addTest(unittest.defaultTestLoader.loadTestsFromModule(module))
        for name, it in list(vars(module).items()):
            if getattr(it, '__module__', None) != module.__name__:
                continue
            if name.startswith('test') and inspect.isfunction(it):
                add(short + ': ' + name, it, False)
            if name.startswith('Test') and inspect.isclass(it) and not issubclass(it, unittest.TestCase):
                takes = any(hasattr(it, 'setup_' + part) for part in ('method', 'class')) or hasattr(it, 'pytestmark')
                for method in [m for m in dir(it) if m.startswith('test')]:
                    add(short + ': ' + name + '.' + method, getattr(it(), method), takes)
if suite.countTestCases() == 0:
    sys.exit('no test was found in the test files of this project')
sys.exit(not unittest.TextTestRunner(stream=sys.stderr).run(suite).wasSuccessful())
`;

/** One command without a shell. Its first line is a comment for readers. */
export const unittestCommand = `python3 -c "# Python's unittest over every test file; no test at all is a failure${program}"`;

/** The text with the long unittest command replaced by a short name, for people and models. */
export const spoken = (text: string): string =>
  text.replaceAll(unittestCommand, 'python3 unittest (every test file; no test at all is a failure)');
