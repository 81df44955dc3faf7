/** The variable by which processes of a run are known, besides `FACTORY_RUN_MARKER`: its name is the run's own, so that a
 *  run inside another run's stage adds its own and the outer one still knows all that it has started. Its value is the
 *  epoch of the engine that started the stage: an engine that lost the run never ends a stage of the next one. */
export const epochVariable = (marker: string): string =>
  `FACTORY_RUN_EPOCH_${marker.slice(-16).replace(/[^A-Za-z0-9]/g, '_')}`;
