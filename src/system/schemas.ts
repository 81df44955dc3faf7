/** Schemas that check by walking, not by programs that they write for themselves: to make these takes longer than a run
 *  that uses each schema once or twice has to spend. Imported before any schema is made. Those that many runs never use
 *  (`z.lazy`) are made when they are first asked. */
import { config } from 'zod';

config({ jitless: true });
