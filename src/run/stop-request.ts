/** The file of a request to stop a run. Any process that asks writes it, without the lock; the owner of the run removes it. */
import { isDeepStrictEqual } from 'node:util';
import { jsonIn } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import { joinedRequest, type StopRequest, stopRequestSchema } from '../core/records/stop-request.ts';
import { assertInPlace, mayWrite } from '../platform/files/fence.ts';
import { readPlain } from '../platform/files/read.ts';
import { removeFile, writeJson } from '../platform/files/write.ts';

/** Bytes. */
const mostOfRequest = 65_536;

/** The request that is there, to whichever owner; undefined also where it cannot be read. */
export function readStopRequest(runDir: string): StopRequest | undefined {
  try {
    const is = readPlain(layout(runDir).stopRequest, mostOfRequest);
    return is.kind === 'text' ? stopRequestSchema().safeParse(jsonIn(is.text)).data : undefined;
  } catch {
    return undefined;
  }
}

/** Leaves the request. One that is there for the same owner is kept in what it asks more. Throws the system's error; a run directory
 *  that is gone is not created again. */
export async function leaveStopRequest(runDir: string, request: StopRequest): Promise<void> {
  assertInPlace(runDir);
  const before = readStopRequest(runDir);
  const now = before?.epoch === request.epoch ? joinedRequest(before, request) : request;
  if (isDeepStrictEqual(before, now)) return;
  await writeJson(layout(runDir).stopRequest, now, { sync: true });
}

/** Removes a request to this owner, or to an earlier one. What cannot be removed is harmless: no later owner follows it. */
export function removeStopRequest(runDir: string, epoch: number): void {
  const request = readStopRequest(runDir);
  if (request === undefined || request.epoch > epoch || !mayWrite(runDir)) return;
  try {
    removeFile(layout(runDir).stopRequest);
  } catch {}
}
