/** Writes the events and trace records of a run. */
import type { EventFacts, RunEvent } from '../model/event.ts';
import type { TraceFacts } from '../model/trace.ts';
import type { Told } from '../store/told.ts';
import type { PreparedRun } from './run-context.ts';

export type EventWriter = ReturnType<typeof eventWriter>;

/** Appends events and trace records with their time; passes events to the watcher. */
export function eventWriter({
  setting,
  events,
  trace,
}: Pick<PreparedRun, 'events' | 'trace'> & {
  readonly setting: Pick<PreparedRun['setting'], 'clock' | 'watcher'>;
}) {
  const stamp = () => ({ schema_version: 1 as const, at: setting.clock.now().toISOString() });
  return {
    async event(facts: EventFacts): Promise<void> {
      const { type, ...rest } = facts;
      const record = { schema_version: 1, type, at: stamp().at, ...rest } as RunEvent;
      await events.append(record);
      setting.watcher.event(record);
    },
    async trace(facts: TraceFacts): Promise<void> {
      const { type, ...rest } = facts;
      await trace.append({ schema_version: 1, type, at: stamp().at, ...rest });
    },
    async tell(told: Told): Promise<void> {
      for (const facts of told.events) await this.event(facts);
      for (const facts of told.trace) await this.trace(facts);
    },
  };
}
