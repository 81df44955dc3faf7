/** Checks the files in the folders of nodes, execution by execution, and that the run directory has no others. */
import { lstatSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { own } from '../core/json.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';
import { namesIn } from '../platform/files/read.ts';
import { isCode } from '../platform/files/write.ts';
import { hashArtifacts } from '../run/artifacts.ts';
import { readStage } from '../run/node-directory.ts';
import type { Findings } from './report.ts';

/** Compares the folders of all executions with their records. Executions of the nodes `open` may have begun. */
export async function checkArtifacts(
  runDir: string,
  manifest: Manifest,
  records: readonly RunRecord[],
  open: ReadonlySet<string>,
  found: Findings,
): Promise<void> {
  const nodes = new Map<string, VisitRecord[]>();
  for (const record of records)
    if (record.type === 'Visit') nodes.set(record.node, [...(nodes.get(record.node) ?? []), record]);
  for (const [node, visits] of nodes) await checkNode(runDir, manifest, visits, open.has(node), found);
  const known = new Set([...nodes.keys(), ...open]);
  checkPlain(runDir, known, found);
  checkTop(runDir, known, found);
}

async function checkNode(
  runDir: string,
  { marker }: Manifest,
  visits: readonly VisitRecord[],
  mayBeOpen: boolean,
  found: Findings,
): Promise<void> {
  const last = visits.at(-1);
  if (last === undefined) return;
  const top = layout(runDir).node(last.node);
  const archive = (visit: number) => join(nodeLayout(top).visits, String(visit));
  const stage = await readStage(top);
  // Once the next execution has begun, finished ones are in `visits/`. Its stage.json may be missing or torn after a
  // power cut; that of the execution before is moved last.
  const isOpen =
    mayBeOpen &&
    (stage === undefined
      ? (await readStage(archive(last.visit)))?.visit === last.visit
      : stage.visit === last.visit + 1);
  const isLast = stage?.visit === last.visit && stage.marker === marker;
  if (!isOpen && !isLast && (stage !== undefined || !mayBeOpen))
    found.add('changed', `${last.node}/stage.json`, 'it names another visit than the last one', {
      should: `visit ${last.visit} of ${marker}`,
      is: stage === undefined ? 'nothing that can be read' : `visit ${stage.visit} of ${stage.marker}`,
    });
  for (const visit of visits) {
    const isTop = visit === last && !isOpen;
    const folder = isTop ? top : archive(visit.visit);
    // After a crash some of its files may still be in the other folder.
    const isMoving = stage?.visit === visit.visit && (!isTop || mayBeOpen);
    const other = isMoving ? (isTop ? archive(visit.visit) : top) : undefined;
    await checkVisit(runDir, folder, other, visit, found);
  }
  const known = new Set(visits.map(({ visit }) => String(visit)));
  if (isLast && !isOpen && !mayBeOpen) known.delete(String(last.visit));
  for (const name of namesIn(nodeLayout(top).visits))
    if (!known.has(name))
      found.add('added', `${last.node}/visits/${name}`, 'the records have no such earlier visit');
}

async function checkVisit(
  runDir: string,
  folder: string,
  other: string | undefined,
  { node, visit, artifacts = {}, artifacts_more: more = 0 }: VisitRecord,
  found: Findings,
): Promise<void> {
  const path = (name: string) => `${folder.slice(runDir.length + 1)}/${name}`;
  const { hashes } = await hashArtifacts(folder);
  const elsewhere = other === undefined ? {} : (await hashArtifacts(other)).hashes;
  for (const [name, should] of Object.entries(artifacts)) {
    found.count('artifacts');
    const is = own(hashes, name) ?? own(elsewhere, name);
    found.hash(path(name), should, is, `what visit ${visit} of "${node}" left`);
  }
  if (more > 0) {
    found.cannot(`${more} files of ${node}@${visit}: its record has no hashes of them`);
    return;
  }
  for (const name of Object.keys(hashes))
    if (own(artifacts, name) === undefined)
      found.add('added', path(name), `visit ${visit} of "${node}" did not leave this file`);
}

/** Names in a run's directory that are the engine's own. */
const engines = new Set(
  Object.values(layout('')).flatMap((path) => (typeof path === 'string' ? [basename(path)] : [])),
);

/** Files without a record that exist only after a crash. */
const passing = new Set([layout('').hidden, layout('').hiddenList].map((path) => basename(path)));

function checkTop(runDir: string, nodes: ReadonlySet<string>, found: Findings): void {
  for (const name of namesIn(runDir)) {
    if (passing.has(name))
      found.cannot(`${name}: a node that was killed has left it, and a resume removes it`);
    if (engines.has(name) || nodes.has(name) || /^\..*\.tmp$/.test(name)) continue;
    found.add('added', name, 'neither the engine nor a node has put this there');
  }
}

/* Checks that files and folders of the engine are not links: the target has no recorded hash and is missing in copies of
 *  the run. */

/** What is at the path; nothing below a link that leads to itself. */
function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isCode(error, 'ELOOP')) return undefined;
    throw error;
  }
}

/** Reports every link that replaces a file or folder of the engine. Nodes may leave links in their folders; links in the
 *  workspace and the history are checked with their contents. */
function checkPlain(runDir: string, nodes: ReadonlySet<string>, found: Findings): void {
  const { root: _, node, workspace, history, scratch, hidden, ...own } = layout(runDir);
  const open = Object.values(own);
  const look = (path: string): boolean => {
    const is = entryAt(path);
    if (is?.isSymbolicLink() === true)
      found.add(
        'changed',
        path.slice(runDir.length + 1),
        'it is a link, and the run has put a file or a folder there',
      );
    return is?.isDirectory() === true;
  };
  for (const id of nodes) {
    const { visits } = nodeLayout(node(id));
    if (look(node(id)) && look(visits)) for (const name of namesIn(visits)) look(join(visits, name));
  }
  for (const path of [history, scratch, hidden]) look(path);
  for (let path = open.pop(); path !== undefined; path = open.pop())
    if (look(path)) open.push(...namesIn(path).map((name) => join(path, name)));
}
