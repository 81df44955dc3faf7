/** The command line with faults: everything that it loads finds Node's own modules replaced. */
import './faults.ts';

await import('../../../src/program.ts');
