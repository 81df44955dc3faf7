/** What every test file finds when it begins. */
import { inMemory } from './temporary.ts';

// Files that tests create have the usual modes for every user.
process.umask(0o022);
inMemory();
