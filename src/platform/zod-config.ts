/** Configures schemas to check by walking instead of generating code: code generation takes longer than a run that
 *  uses each schema once or twice saves. Imported before any schema is created. Schemas that many runs never use
 *  (`z.lazy`) are created on first use. */
import { config } from 'zod';

config({ jitless: true });
