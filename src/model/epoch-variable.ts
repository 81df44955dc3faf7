/** The environment variable that marks processes of a run, in addition to `FACTORY_RUN_MARKER`. Its name contains the
 *  marker of the run: a run inside a node of another run adds a variable, and the outer run still finds all its
 *  processes. Its value is the epoch of the owner that started the node: an owner that lost the run never ends processes
 *  of the next owner. */
export const epochVariable = (marker: string): string =>
  `FACTORY_RUN_EPOCH_${marker.slice(-16).replace(/[^A-Za-z0-9]/g, '_')}`;
