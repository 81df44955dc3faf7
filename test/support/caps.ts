/** The limits of a run whose graph and flags set none. */
import { type Caps, runLimits } from '../../src/core/settings/limits.ts';

const { max_steps, max_restarts, park_after, max_outage, max_windows } = runLimits;
export const defaultCaps: Caps = {
  max_steps: max_steps.otherwise,
  max_restarts: max_restarts.otherwise,
  park_after: park_after.otherwise,
  max_outage: max_outage.otherwise,
  max_windows: max_windows.otherwise,
};
