/** Process groups of stages that are running now, so that a last signal can end them at once. */
const live = new Set<number>();

export const groupStarted = (pid: number): void => void live.add(pid);
export const groupEnded = (pid: number): void => void live.delete(pid);

/** SIGKILL to every group, without waiting; for a process that is about to end itself. */
export function killLiveGroups(): void {
  for (const pid of live) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}
