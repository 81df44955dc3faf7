/** Searches a run for holdout leaks and for changes of tests and of the files that run them. Needs no network and does
 *  not change the run. */
import { type Graph, isAgentType } from '../../core/graph.ts';
import { leakIn } from '../../core/leak-reason.ts';
import type { AuditFinding, AuditReport } from '../../core/records/audit.ts';
import type { Exchange } from '../../core/records/exchange.ts';
import type { JournalLine } from '../../core/records/journal.ts';
import { layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import { sha256 } from '../../core/sha256.ts';
import { fileVariables, mayReadIn } from '../../holdout/access.ts';
import { type Canaries, leakFix, leaksIn } from '../../holdout/leak-scan.ts';
import { GitError } from '../../platform/git.ts';
import { openRun } from '../../run/open-run.ts';
import { contentIn } from '../../workspace/diff.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { canariesFor, type SealedCanaries } from './canaries.ts';
import { auditedCommits, scopeOfNode, scopesOfOrders } from './commits.ts';
import {
  type AuditEvidence,
  artifacts,
  changedBy,
  conversations,
  recorded,
  updates,
  workOf,
} from './evidence.ts';
import { narrowedChecks } from './narrowed.ts';
import { aboutChecks, type TestChange, tamperingIn } from './test-changes.ts';
import { type About, watchedBy } from './watched.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The audit of the run in `runDir` up to its checkpoint. `env` locates keys and git; `graphOf` reads the pipeline that the
 *  run keeps. `why` if the run cannot be read. */
export async function auditRun(
  runDir: string,
  env: Environment,
  graphOf: (manifest: Manifest) => Graph | undefined,
): Promise<{ readonly report: AuditReport } | { readonly why: string }> {
  const reader = openRun(runDir);
  const read = await reader.manifest();
  if (!read.ok) return read;
  const soFar = reader.history();
  if (!soFar.ok) return soFar;
  const { manifest } = read;
  const { records, exchanges } = soFar;
  const [first] = records;
  if (first?.type !== 'Start') return { why: `the visits of ${runDir} have no start record` };
  const at = layout(runDir);
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents });
  const sealed = await canariesFor(runDir, manifest, snapshots, first.snapshot, env);
  const auditor = new Auditor(manifest, graphOf(manifest), runDir, sealed.canaries, snapshots, exchanges);
  const start = await snapshots.load(first.snapshot);
  const end = await snapshots.load(soFar.checkpoint.snapshot ?? first.snapshot);
  const about = await aboutChecks(records, start, end, snapshots, at.workspace);
  await auditor.texts(records);
  const inVisits = await auditor.visits(records, start, end, about);
  const inCommits = await auditor.commits(env);
  auditor.leaksThatFailed(soFar.lines);
  auditor.add(narrowedChecks(records, graphOf(manifest), about.start));
  auditor.tampering(inVisits, inCommits, about);
  return { report: auditor.report(records, sealed) };
}

class Auditor {
  private readonly findings: AuditFinding[] = [];
  private readonly notes = new Set<string>();
  private readonly counts = { texts: 0, files: 0, commits: 0 };
  /** Texts already searched, by execution and hash. */
  private readonly searched = new Set<string>();
  /** Contents of files already searched. */
  private readonly seen = new Set<string>();
  private readonly isExempt: (node: string) => boolean;
  private readonly damaged = (why: string): void => void this.notes.add(why);

  constructor(
    private readonly manifest: Manifest,
    private readonly graph: Graph | undefined,
    private readonly runDir: string,
    private readonly canaries: Canaries | undefined,
    private readonly snapshots: Snapshots,
    private readonly exchanges: readonly Exchange[],
  ) {
    this.isExempt = mayReadIn(graph);
  }

  add(findings: readonly AuditFinding[]): void {
    this.findings.push(...findings);
  }

  /** Searches what agents read and wrote. */
  async texts(records: readonly RunRecord[]): Promise<void> {
    const agents = new Set(
      records.flatMap((one) => (one.type === 'Visit' && isAgentType(one.node_type) ? [one.node] : [])),
    );
    // An interrupted execution has no record.
    for (const [id, node] of this.graph?.nodes ?? []) if (isAgentType(node.type)) agents.add(id);
    const isAgent = (node: string) => agents.has(node);
    for await (const one of artifacts(this.runDir, isAgent)) this.look(one);
    for (const one of recorded(this.runDir, this.exchanges, this.damaged)) this.look(one);
    for (const one of conversations(this.runDir, records, this.damaged)) this.look(one);
    for (const one of updates(records, isAgent)) this.look(one);
    if (this.canaries === undefined) return;
    const place = { node: null, visit: null, path: null };
    for await (const { name, text } of fileVariables(this.runDir, this.manifest))
      this.findings.push(
        ...leaksIn(this.canaries, text, { ...place, where: `the file of the variable "${name}"` }),
      );
  }

  private look({ node, visit, where, text }: AuditEvidence): void {
    const key = `${node}@${visit} ${sha256(text)}`;
    if (this.searched.has(key)) return;
    this.searched.add(key);
    this.counts.texts++;
    if (this.canaries === undefined || this.isExempt(node)) return;
    this.findings.push(...leaksIn(this.canaries, text, { node, visit, where, path: null }));
  }

  /** Searches the workspace after each execution; returns the changes of agents, and those of tools and checks that concern
   *  tests. */
  async visits(
    records: readonly RunRecord[],
    start: Snapshot,
    end: Snapshot,
    about: About,
  ): Promise<TestChange[]> {
    const changes: TestChange[] = [];
    for (const { hash } of start.tree.values()) if (hash !== undefined) this.seen.add(hash);
    const works = workOf(records, this.exchanges);
    const watched = await watchedBy(works, this.snapshots, end, about);
    for (const work of works) {
      const { node, visit, by, at } = work;
      const isWatched = await watched(work);
      const scope = scopeOfNode(this.graph, node);
      for await (const changed of changedBy(work, this.snapshots, this.damaged)) {
        const { path, hash, is, mtimeMs } = changed;
        const counts = isWatched(path);
        const isKnown = hash !== undefined && this.seen.has(hash);
        // A tool that writes known contents reveals nothing.
        if (isKnown && !counts) continue;
        const before = counts || this.canaries !== undefined ? await changed.before() : undefined;
        const after = await changed.after();
        const atStart = contentIn(start, path);
        const restored = atStart === contentIn(end, path);
        if (counts && work.isVisit && !(restored && is === atStart))
          changes.push({
            path,
            before,
            after,
            place: { node, visit, where: '' },
            named: scope.named(path),
            mayChange: scope.mayChange,
            restored,
            ...{ by, at, mtimeMs },
          });
        this.leftIn(after, before, { node, visit, where: `workspace/${path}`, path });
      }
    }
    return changes;
  }

  /** Searches the content of a changed file, unless another execution or commit had it. */
  private leftIn(
    after: Buffer | undefined,
    before: Buffer | undefined,
    place: { node: string | null; visit: number | null; where: string; path: string },
  ): void {
    if (after === undefined || this.seen.has(sha256(after))) return;
    this.seen.add(sha256(after));
    this.counts.files++;
    if (this.canaries === undefined || (place.node !== null && this.isExempt(place.node))) return;
    this.findings.push(...leaksIn(this.canaries, after, place, before));
    this.findings.push(
      ...leaksIn(this.canaries, Buffer.from(place.path), { ...place, where: 'a file name' }),
    );
  }

  /** Searches messages and changes of the run's commits; returns the changes. Contents seen in the workspace are not
   *  searched again. */
  async commits(env: Environment): Promise<TestChange[]> {
    const changes: TestChange[] = [];
    const { workspace } = layout(this.runDir);
    try {
      const scopeOf = await scopesOfOrders(workspace);
      for await (const { id, message, changes: files } of auditedCommits(this.runDir, env)) {
        this.counts.commits++;
        const commit = `commit ${id.slice(0, 12)}`;
        const place = { node: null, visit: null };
        const scope = scopeOf(message);
        const inMessage = { ...place, where: `${commit} (message)`, path: null };
        if (this.canaries !== undefined)
          this.findings.push(...leaksIn(this.canaries, Buffer.from(message), inMessage));
        for (const { path, before, after } of files) {
          changes.push({
            path,
            before,
            after,
            place: { ...place, where: commit },
            named: scope.named(path),
            mayChange: scope.mayChange,
            restored: false,
            by: 'agent',
          });
          this.leftIn(after, before, { ...place, where: `${commit}: ${path}`, path });
        }
      }
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      this.notes.add(`the commits could not be read: ${error.message}`);
    }
    return changes;
  }

  /** The leaks that failed the run: their changes were undone, so that other evidence may be missing. */
  leaksThatFailed(lines: readonly JournalLine[]): void {
    let began: { readonly node: string; readonly visit: number } | undefined;
    let last: AuditFinding | undefined;
    for (const line of lines) {
      // The run was resumed and the node executed again.
      if (last !== undefined) this.findings.push({ ...last, severity: 'warning' });
      last = undefined;
      if (line.type === 'Began') began = line;
      const { node = null, visit = null } = began ?? {};
      const reason = line.type === 'Stopped' ? (line.ended?.reason ?? '') : '';
      const leak = leakIn(reason);
      const known = (one: AuditFinding) =>
        one.code.startsWith('holdout-') && one.node === node && one.visit === visit;
      if (leak === undefined || this.findings.some(known)) continue;
      last = {
        code: 'holdout-canary',
        severity: 'error',
        sure: 'certain',
        node,
        visit,
        where: 'journal.jsonl',
        path: null,
        line: null,
        message: `failed the run: ${leak.where} showed line ${leak.line} of a sealed file; the changes of the node were undone`,
        fix: leakFix,
      };
    }
    if (last !== undefined) this.findings.push(last);
  }

  /** Changes of tests and of the files that run them, in executions, then in commits; a commit of a known change is not
   *  repeated. */
  tampering(inVisits: readonly TestChange[], inCommits: readonly TestChange[], about: About): void {
    const found = tamperingIn(inVisits, about);
    const known = new Set(found.map(keyOf));
    this.findings.push(...found);
    this.findings.push(...tamperingIn(inCommits, about).filter((one) => !known.has(keyOf(one))));
  }

  report(records: readonly RunRecord[], { holdout, problem, canaries }: SealedCanaries): AuditReport {
    const findings = [...this.findings].sort((a, b) => rank(a) - rank(b));
    const count = (severity: string) => findings.filter((one) => one.severity === severity).length;
    return {
      schema_version: 1,
      run_id: this.manifest.run_id,
      holdout,
      ...(problem === undefined ? {} : { holdout_problem: problem }),
      looked_at: {
        visits: records.filter(({ type }) => type === 'Visit').length,
        ...this.counts,
        canaries: canaries?.size ?? 0,
      },
      notes: [...this.notes],
      findings,
      errors: count('error'),
      warnings: count('warning'),
    };
  }
}

/** Errors, then changed test files, then the rest. */
const rank = ({ severity, code }: AuditFinding): number =>
  severity === 'error' ? 0 : code === 'test-changed' ? 1 : 2;

/** Identifies the same change in an execution and in a commit. */
const keyOf = ({ code, path, before, after }: AuditFinding): string =>
  `${code}\n${path}\n${before ?? ''}\n${after ?? ''}`;
