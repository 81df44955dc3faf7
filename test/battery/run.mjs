#!/usr/bin/env node
// Black-box conformance battery runner. Node >= 20, no dependencies.
//
//   node run.mjs --factory "<command>" [--scripts DIR] [--only a,b] [--jobs N]
//                [--arg-order flags-first|pipeline-first] [--keep] [--json FILE]
//                [--list] [-v]
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const opt = parseArgs(process.argv.slice(2));
const CASES = path.resolve(opt.cases ?? path.join(HERE, 'cases'));

function parseArgs(a) {
  const o = { jobs: Math.max(1, Math.min(4, os.availableParallelism?.() ?? 2)), argOrder: 'flags-first' };
  const need = (i) => {
    if (i + 1 >= a.length) die(`missing value for ${a[i]}`);
    return a[i + 1];
  };
  for (let i = 0; i < a.length; i++) {
    switch (a[i]) {
      case '--factory': o.factory = need(i++); break;
      case '--cases': o.cases = need(i++); break;
      case '--only': o.only = need(i++).split(',').filter(Boolean); break;
      case '--scripts': o.scripts = path.resolve(need(i++)); break;
      case '--arg-order': o.argOrder = need(i++); break;
      case '--jobs': o.jobs = Number(need(i++)) || 1; break;
      case '--json': o.json = need(i++); break;
      case '--keep': o.keep = true; break;
      case '--list': o.list = true; break;
      case '-v': case '--verbose': o.verbose = true; break;
      default: die(`unknown option ${a[i]}`);
    }
  }
  if (!o.list && !o.factory) die('usage: node run.mjs --factory "<command>" [--scripts DIR] [--only a,b] [--jobs N] [--keep] [--json FILE] [-v]');
  return o;
}
function die(msg) { console.error(msg); process.exit(2); }

function splitCommand(s) {
  const out = []; let cur = ''; let q = null; let any = false;
  for (const ch of s) {
    if (q) { if (ch === q) q = null; else cur += ch; continue; }
    if (ch === '"' || ch === "'") { q = ch; any = true; continue; }
    if (/\s/.test(ch)) { if (cur || any) out.push(cur); cur = ''; any = false; continue; }
    cur += ch;
  }
  if (cur || any) out.push(cur);
  // relative program paths are meant relative to the caller, not to a case root
  return out.map((p) => (p.includes('/') && !path.isAbsolute(p) && fs.existsSync(p) ? path.resolve(p) : p));
}

// ---------------------------------------------------------------- staging
function subst(v, vars) {
  if (typeof v === 'string') return v.replace(/\{\{([A-Z]+)\}\}/g, (m, k) => (k in vars ? vars[k] : m));
  if (Array.isArray(v)) return v.map((x) => subst(x, vars));
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [subst(k, vars), subst(x, vars)]));
  return v;
}
function writeTree(base, spec) {
  for (const d of spec.dirs ?? []) fs.mkdirSync(path.join(base, d), { recursive: true });
  for (const [p, content] of Object.entries(spec.files ?? {})) {
    const f = path.join(base, p);
    fs.mkdirSync(path.dirname(f), { recursive: true });
    fs.writeFileSync(f, typeof content === 'object' ? Buffer.from(content.base64, 'base64') : content);
  }
  for (const [p, target] of Object.entries(spec.symlinks ?? {})) {
    fs.mkdirSync(path.dirname(path.join(base, p)), { recursive: true });
    fs.symlinkSync(target, path.join(base, p));
  }
  for (const p of spec.exec ?? []) fs.chmodSync(path.join(base, p), 0o755);
  for (const p of spec.remove ?? []) fs.rmSync(path.join(base, p), { recursive: true, force: true });
}

function baseEnv(root) {
  const env = {};
  for (const [k, v] of Object.entries(process.env)) {
    if (/^(ATTRACT(OR|ION)_|FACTORY_|SCENARIO_MODE$|REQUIRE_LIVE$|OPENAI_|ANTHROPIC_|CODEX_)/.test(k)) continue;
    env[k] = v;
  }
  env.PATH = `${path.join(root, 'bin')}:${process.env.PATH}`;
  env.HOME = path.join(root, 'home');
  env.TMPDIR = path.join(root, 'tmp');
  return env;
}

// ---------------------------------------------------------------- processes
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
function alive(pid) {
  try {
    process.kill(pid, 0);
    const st = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return st.slice(st.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch { return false; }
}
function killGroup(pid, sig) { try { process.kill(-pid, sig); } catch { /* gone */ } }

async function runProcess(argv, { cwd, env, timeoutMs, outFile, errFile, kill, loc }) {
  const so = fs.openSync(outFile, 'w'); const se = fs.openSync(errFile, 'w');
  const t0 = Date.now();
  const child = spawn(argv[0], argv.slice(1), { cwd, env, stdio: ['ignore', so, se], detached: true });
  fs.closeSync(so); fs.closeSync(se);
  let timedOut = false; let done = false;
  const exited = new Promise((res) => {
    child.on('error', (e) => { done = true; res({ code: null, signal: null, spawnError: e }); });
    child.on('exit', (code, signal) => { done = true; res({ code, signal }); });
  });
  const timer = setTimeout(() => { timedOut = true; killGroup(child.pid, 'SIGKILL'); }, timeoutMs);
  if (kill) {
    const f = loc(kill.when);
    while (!done && !fs.existsSync(f)) await sleep(20);
    if (!done) {
      await sleep(kill.delayMs ?? 100);
      if (kill.group === false) { try { process.kill(child.pid, kill.signal ?? 'SIGKILL'); } catch { /* gone */ } }
      else killGroup(child.pid, kill.signal ?? 'SIGKILL');
    }
  }
  const r = await exited;
  clearTimeout(timer);
  const elapsed = Date.now() - t0;
  return { ...r, timedOut, elapsed, pid: child.pid };
}

// ---------------------------------------------------------------- matching
function deepEq(a, b) {
  if (a === b) return true;
  if (typeof a !== typeof b || a === null || b === null || typeof a !== 'object') return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a)) return a.length === b.length && a.every((x, i) => deepEq(x, b[i]));
  const ka = Object.keys(a); const kb = Object.keys(b);
  return ka.length === kb.length && ka.every((k) => deepEq(a[k], b[k]));
}
const short = (v) => {
  const s = (typeof v === 'string' ? v : JSON.stringify(v) ?? 'undefined').replace(/\n/g, '\\n');
  return s.length > 240 ? `${s.slice(0, 240)}…` : s;
};
const arr = (x) => (Array.isArray(x) ? x : [x]);
function typeOf(v) { return v === undefined ? 'missing' : v === null ? 'null' : Array.isArray(v) ? 'array' : typeof v; }

// returns null when it matches, else a reason
function mismatch(v, cond) {
  const isOps = cond && typeof cond === 'object' && !Array.isArray(cond) && Object.keys(cond).length > 0 && Object.keys(cond).every((k) => k.startsWith('$'));
  if (!isOps) return deepEq(v, cond) ? null : `got ${short(v)}, want ${short(cond)}`;
  for (const [op, x] of Object.entries(cond)) {
    let bad = null;
    switch (op) {
      case '$eq': bad = deepEq(v, x) ? null : `got ${short(v)}, want ${short(x)}`; break;
      case '$ne': bad = deepEq(v, x) ? `must not be ${short(x)}` : null; break;
      case '$in': bad = x.some((y) => deepEq(v, y)) ? null : `got ${short(v)}, want one of ${short(x)}`; break;
      case '$trimEq': bad = typeof v === 'string' && v.trim() === x.trim() ? null : `got ${short(v)}, want ${short(x)}`; break;
      case '$contains':
        for (const y of arr(x)) {
          const has = typeof v === 'string' ? v.includes(y) : Array.isArray(v) ? v.some((z) => deepEq(z, y)) : false;
          if (!has) { bad = `${short(v)} lacks ${short(y)}`; break; }
        }
        break;
      case '$icontains':
        for (const y of arr(x)) if (typeof v !== 'string' || !v.toLowerCase().includes(y.toLowerCase())) { bad = `${short(v)} lacks (any case) ${short(y)}`; break; }
        break;
      case '$lacks':
        for (const y of arr(x)) {
          const has = typeof v === 'string' ? v.includes(y) : Array.isArray(v) ? v.some((z) => deepEq(z, y)) : false;
          if (has) { bad = `must not contain ${short(y)}: ${short(v)}`; break; }
        }
        break;
      case '$matches': bad = typeof v === 'string' && new RegExp(x, 'm').test(v) ? null : `${short(v)} does not match /${x}/`; break;
      case '$type': bad = arr(x).includes(typeOf(v)) ? null : `type ${typeOf(v)}, want ${arr(x).join('|')}`; break;
      case '$exists': bad = (v !== undefined) === x ? null : x ? 'missing' : 'should be absent'; break;
      case '$len': bad = v != null && v.length === x ? null : `length ${v?.length}, want ${x}`; break;
      case '$maxLen': bad = v != null && v.length <= x ? null : `length ${v?.length}, want <= ${x}`; break;
      case '$gte': bad = typeof v === 'number' && v >= x ? null : `got ${short(v)}, want >= ${x}`; break;
      case '$lte': bad = typeof v === 'number' && v <= x ? null : `got ${short(v)}, want <= ${x}`; break;
      case '$keys': for (const k of x) if (v == null || typeof v !== 'object' || !(k in v)) { bad = `no key ${k} in ${short(v)}`; break; } break;
      case '$setEq': bad = Array.isArray(v) && v.length === x.length && x.every((y) => v.some((z) => deepEq(z, y))) ? null : `got ${short(v)}, want the set ${short(x)}`; break;
      case '$isoTime': bad = typeof v === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(v) && !Number.isNaN(Date.parse(v)) ? null : `not an ISO timestamp: ${short(v)}`; break;
      case '$emptyish': bad = v == null || v.length === 0 ? null : `want empty or null, got ${short(v)}`; break;
      default: bad = `unknown operator ${op}`;
    }
    if (bad) return bad;
  }
  return null;
}
function dig(v, at) {
  if (at === undefined || at === '') return v;
  for (const k of String(at).split('/')) {
    if (v == null || typeof v !== 'object') return undefined;
    v = Array.isArray(v) ? v[Number(k)] : Object.hasOwn(v, k) ? v[k] : undefined;
  }
  return v;
}
function readJsonl(f) {
  return fs.readFileSync(f, 'utf8').split('\n').filter((l) => l.trim()).map((l, i) => {
    try { return JSON.parse(l); } catch { throw new Error(`${path.basename(f)} line ${i + 1} is not JSON: ${short(l)}`); }
  });
}
const matchesWhere = (rec, where) => Object.entries(where ?? {}).every(([k, c]) => mismatch(k === '$any' ? JSON.stringify(rec) : dig(rec, k), k === '$any' ? { $contains: c } : c) === null);

function checkOne(e, ctx) {
  const { loc, last } = ctx;
  const label = e.note ? ` (${e.note})` : '';
  if ('exit' in e) return last.code === e.exit ? null : `exit code ${last.code}, want ${e.exit}${label}`;
  if ('elapsedMs' in e) { const m = mismatch(last.elapsed, e.elapsedMs); return m && `elapsed: ${m}${label}`; }
  if ('stderr' in e) { const m = mismatch(fs.readFileSync(last.err, 'utf8'), e.stderr); return m && `stderr: ${m}${label}`; }
  if ('stdout' in e) { const m = mismatch(fs.readFileSync(last.out, 'utf8'), e.stdout); return m && `stdout: ${m}${label}`; }
  if ('output' in e) { const m = mismatch(fs.readFileSync(last.out, 'utf8') + fs.readFileSync(last.err, 'utf8'), e.output); return m && `stdout+stderr: ${m}${label}`; }
  if ('visited' in e) {
    const f = loc('run:events.jsonl');
    const v = fs.existsSync(f) ? readJsonl(f).filter((r) => r.type === 'StageStarted').map((r) => r.node_id) : [];
    const m = mismatch(v, e.visited);
    return m && `visited nodes: ${m}${label}`;
  }
  if ('pidGone' in e) {
    const f = loc(e.pidGone);
    if (!fs.existsSync(f)) return `${e.pidGone} was never written${label}`;
    const pid = Number(fs.readFileSync(f, 'utf8'));
    ctx.reap.push(pid);
    return alive(pid) ? `process ${pid} recorded in ${e.pidGone} is still running${label}` : null;
  }
  if ('dir' in e) {
    const d = loc(e.dir);
    if (e.exists === false) return fs.existsSync(d) ? `${e.dir} should not exist${label}` : null;
    if (!fs.existsSync(d) || !fs.statSync(d).isDirectory()) return `directory ${e.dir} missing${label}`;
    if (e.entries) { const m = mismatch(fs.readdirSync(d).sort(), e.entries); return m && `${e.dir}: ${m}${label}`; }
    return null;
  }
  if ('file' in e) {
    const f = loc(e.file);
    if (e.exists === false) return fs.existsSync(f) ? `${e.file} should not exist${label}` : null;
    if (!fs.existsSync(f)) return `${e.file} missing${label}`;
    if (e.exec !== undefined) {
      const on = (fs.statSync(f).mode & 0o111) !== 0;
      if (on !== e.exec) return `${e.file} executable=${on}, want ${e.exec}${label}`;
    }
    if (e.base64 !== undefined && fs.readFileSync(f).toString('base64') !== e.base64) return `${e.file} bytes differ${label}`;
    if (e.is !== undefined) { const m = mismatch(fs.readFileSync(f, 'utf8'), e.is); return m && `${e.file}: ${m}${label}`; }
    return null;
  }
  if ('json' in e) {
    const f = loc(e.json);
    if (!fs.existsSync(f)) return `${e.json} missing${label}`;
    let v; try { v = JSON.parse(fs.readFileSync(f, 'utf8')); } catch (x) { return `${e.json} is not JSON: ${x.message}`; }
    for (const [at, c] of Object.entries(e.has ?? { [e.at ?? '']: e.is })) {
      const m = mismatch(dig(v, at), c);
      if (m) return `${e.json} ${at || '(root)'}: ${m}${label}`;
    }
    return null;
  }
  if ('records' in e) {
    const f = loc(e.records);
    if (!fs.existsSync(f)) return e.count === 0 ? null : `${e.records} missing${label}`;
    const hit = readJsonl(f).filter((r) => matchesWhere(r, e.where));
    const w = `${e.records} ${short(e.where ?? {})}`;
    if (e.count !== undefined && hit.length !== e.count) return `${w}: ${hit.length} records, want ${e.count}${label}`;
    if (e.count === undefined && hit.length < (e.min ?? 1)) return `${w}: ${hit.length} records, want >= ${e.min ?? 1}${label}`;
    if (e.max !== undefined && hit.length > e.max) return `${w}: ${hit.length} records, want <= ${e.max}${label}`;
    for (const r of e.which === 'last' ? hit.slice(-1) : e.which === 'first' ? hit.slice(0, 1) : hit) {
      for (const [at, c] of Object.entries(e.each ?? {})) {
        const m = mismatch(dig(r, at), c);
        if (m) return `${w} field ${at}: ${m}${label}`;
      }
    }
    return null;
  }
  if ('order' in e) { // types (optionally type:node) must occur as a subsequence
    const f = loc(e.order);
    if (!fs.existsSync(f)) return `${e.order} missing${label}`;
    const recs = readJsonl(f); let i = 0;
    for (const want of e.types) {
      const [type, node] = want.split(':');
      while (i < recs.length && !(recs[i].type === type && (!node || [recs[i].node_id, recs[i].from_node, recs[i].last_completed_node].includes(node)))) i++;
      if (i >= recs.length) return `${e.order}: ${want} not found in order in [${recs.map((r) => r.type).join(', ')}]${label}`;
      i++;
    }
    return null;
  }
  if ('argv' in e) {
    const f = loc(e.argv);
    if (!fs.existsSync(f)) return `${e.argv} missing (codex was not called?)${label}`;
    const a = fs.readFileSync(f, 'utf8').replace(/\n$/, '').split('\n');
    const at = (seq) => { for (let i = 0; i + seq.length <= a.length; i++) if (seq.every((s, j) => a[i + j] === s)) return i; return -1; };
    for (const seq of e.has ?? []) if (at(arr(seq)) < 0) return `argv lacks ${short(arr(seq))}: ${a.join(' ')}${label}`;
    for (const seq of e.lacks ?? []) if (at(arr(seq)) >= 0) return `argv must not have ${short(arr(seq))}: ${a.join(' ')}${label}`;
    for (const [seq, n] of e.times ?? []) { let c = 0; for (let i = 0; i < a.length; i++) if (arr(seq).every((s, j) => a[i + j] === s)) c++; if (c !== n) return `argv has ${short(seq)} ${c} times, want ${n}${label}`; }
    let pos = -1;
    for (const seq of e.inOrder ?? []) { const p = at(arr(seq)); if (p <= pos) return `argv order: ${short(arr(seq))} at ${p}, must come after ${pos}: ${a.join(' ')}${label}`; pos = p; }
    if (e.last !== undefined && a[a.length - 1] !== e.last) return `last argv ${a[a.length - 1]}, want ${e.last}${label}`;
    return null;
  }
  if ('lines' in e) {
    const f = loc(e.lines);
    if (!fs.existsSync(f)) return `${e.lines} missing${label}`;
    const m = mismatch(fs.readFileSync(f, 'utf8').split('\n').filter(Boolean), e.is);
    return m && `${e.lines}: ${m}${label}`;
  }
  if ('stderrJsonLines' in e) {
    const ls = fs.readFileSync(last.err, 'utf8').split('\n').filter((l) => l.trim());
    if (ls.length < (e.stderrJsonLines.min ?? 1)) return `stderr has ${ls.length} lines${label}`;
    for (const l of ls) { try { JSON.parse(l); } catch { return `stderr line is not JSON: ${short(l)}${label}`; } }
    return null;
  }
  if ('onlyRunDir' in e) { // the single directory created under runsdir
    const kids = fs.existsSync(ctx.vars.RUNSDIR) ? fs.readdirSync(ctx.vars.RUNSDIR) : [];
    if (kids.length !== 1) return `runsdir entries ${short(kids)}, want exactly one${label}`;
    const m = mismatch(kids[0], e.onlyRunDir.name);
    if (m) return `generated run id: ${m}${label}`;
    for (const f of e.onlyRunDir.has ?? []) if (!fs.existsSync(path.join(ctx.vars.RUNSDIR, kids[0], f))) return `${kids[0]}/${f} missing${label}`;
    return null;
  }
  return `unknown assertion ${short(e)}`;
}

// ---------------------------------------------------------------- one case
async function runCase(id) {
  const dir = path.join(CASES, id);
  const raw = JSON.parse(fs.readFileSync(path.join(dir, 'case.json'), 'utf8'));
  if ((raw.needs ?? []).includes('scripts') && !opt.scripts) return { id, raw, skipped: 'needs --scripts' };
  if ((raw.needs ?? []).includes('nonroot') && process.getuid?.() === 0) return { id, raw, skipped: 'needs a non-root user' };
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `dfcase-`)));
  const vars = {
    ROOT: root, WORKDIR: path.join(root, 'work'), BIN: path.join(root, 'bin'), CAP: path.join(root, 'cap'),
    SCRIPTS: opt.scripts ?? '', RUNID: 'r1',
  };
  vars.RUNSDIR = raw.runsdir ? subst(raw.runsdir, vars) : path.join(root, 'runs');
  vars.RUNDIR = path.join(vars.RUNSDIR, vars.RUNID);
  vars.WS = path.join(vars.RUNDIR, 'workspace');
  const c = subst(raw, vars);
  const reasons = [];
  const reap = [];
  const loc = (p) => {
    const m = /^(run|ws|cap|work|root|runs):(.*)$/s.exec(p);
    if (!m) throw new Error(`bad location ${p}`);
    return path.join({ run: vars.RUNDIR, ws: vars.WS, cap: vars.CAP, work: vars.WORKDIR, root, runs: vars.RUNSDIR }[m[1]], m[2]);
  };
  try {
    for (const d of ['work', 'bin', 'home', 'tmp', 'cap']) fs.mkdirSync(path.join(root, d));
    const wd = path.join(dir, 'workdir');
    if (fs.existsSync(wd)) fs.cpSync(wd, vars.WORKDIR, { recursive: true, preserveTimestamps: true });
    writeTree(vars.WORKDIR, c.workdir ?? {});
    writeTree(root, c.root ?? {});
    for (const f of fs.readdirSync(dir)) if (f.endsWith('.dot')) fs.writeFileSync(path.join(root, f), subst(fs.readFileSync(path.join(dir, f), 'utf8'), vars));
    // PATH never reaches a real codex: without a case-specific fake it is a loud failure.
    const head = subst(fs.readFileSync(path.join(HERE, 'fixtures', 'codex.head.sh'), 'utf8'), vars);
    const body = c.codex ? head + (arr(c.codex.script ?? ['ok; finish 0']).join('\n')) + '\n' : '#!/bin/sh\necho "no fake codex in this case" >&2\nexit 97\n';
    const dest = c.codex?.install ? path.join(root, c.codex.install) : path.join(root, 'bin', 'codex');
    fs.mkdirSync(path.dirname(dest), { recursive: true });
    fs.writeFileSync(dest, body, { mode: 0o755 });
    if (c.codex?.install) fs.writeFileSync(path.join(root, 'bin', 'codex'), '#!/bin/sh\necho "wrong codex used" >&2\nexit 98\n', { mode: 0o755 });

    const multi = Boolean(c.steps);
    const steps = c.steps ?? [c];
    let n = 0;
    for (const s of steps) {
      n++;
      const where = steps.length > 1 ? `step ${n}${s.title ? ` [${s.title}]` : ''}: ` : '';
      if (s.before?.workdir) writeTree(vars.WORKDIR, s.before.workdir);
      if (s.before?.ws) writeTree(vars.WS, s.before.ws);
      if (s.before?.rundir) writeTree(vars.RUNDIR, s.before.rundir);
      if (s.before?.root) writeTree(root, s.before.root);
      if (s.before?.freshRuns) fs.rmSync(vars.RUNSDIR, { recursive: true, force: true });
      let argv;
      const pipeline = path.join(root, s.pipeline ?? c.pipeline ?? 'pipeline.dot');
      if (s.cmd) argv = s.cmd;
      else if (s.rawArgs) argv = [...splitCommand(opt.factory), ...s.rawArgs];
      else {
        const flags = ['--workdir', s.workdirArg ?? vars.WORKDIR, '--runsdir', s.runsdirArg ?? vars.RUNSDIR];
        if (s.runId !== null) flags.push('--run-id', s.runId ?? vars.RUNID);
        flags.push(...(s.args ?? []));
        const order = s.argOrder ?? opt.argOrder;
        argv = [...splitCommand(opt.factory), 'run', ...(order === 'pipeline-first' ? [pipeline, ...flags] : [...flags, pipeline])];
      }
      const env = { ...baseEnv(root), ...(c.env ?? {}), ...(s.env ?? {}) };
      for (const k of Object.keys(env)) if (env[k] === null) delete env[k];
      const out = path.join(root, `out.${n}`); const err = path.join(root, `err.${n}`);
      const r = await runProcess(argv, {
        cwd: s.cwd ?? root, env, timeoutMs: (s.timeout ?? c.timeout ?? 30) * 1000, outFile: out, errFile: err, kill: s.kill, loc,
      });
      const last = { ...r, out, err };
      const want = s.expectExit ?? 'ok';
      if (r.spawnError) reasons.push(`${where}cannot start: ${r.spawnError.message}`);
      else if (r.timedOut) reasons.push(`${where}timed out after ${r.elapsed} ms`);
      else if (want === 'ok' && r.code !== 0) reasons.push(`${where}exit ${r.code ?? r.signal}, want 0; stderr tail: ${short(fs.readFileSync(err, 'utf8').slice(-400))}`);
      else if (want === 'fail' && s.exitCode !== undefined && r.code !== s.exitCode) reasons.push(`${where}exit ${r.code ?? r.signal}, want ${s.exitCode}`);
      else if (want === 'fail' && s.exitCode === undefined && ![1, 2].includes(r.code) && !s.cmd) reasons.push(`${where}exit ${r.code ?? r.signal}, want 1, or 2 for a text or flag that is wrong`);
      else if (want === 'fail' && s.cmd && (r.code === 0 || r.code === null)) reasons.push(`${where}exit ${r.code ?? r.signal}, want non-zero`);
      else if (want === 'killed' && r.code !== null && !r.signal && r.code < 128) reasons.push(`${where}exit ${r.code}, the case meant to kill it`);
      const ctx = { loc, last, vars, reap };
      const exps = [...(s.expect ?? []), ...(multi && n === steps.length ? c.expect ?? [] : [])];
      for (const e of exps) {
        let m;
        try { m = checkOne(e, ctx); } catch (x) { m = `${short(e)}: ${x.message}`; }
        if (m) {
          if ('pidGone' in e) { await sleep(1500); try { m = checkOne(e, ctx); } catch { /* keep */ } }
          if (m) reasons.push(where + m);
        }
      }
      killGroup(r.pid, 'SIGKILL'); // leftovers of this step only
      if (r.timedOut) break;
    }
  } catch (x) {
    reasons.push(`runner error: ${x.stack ?? x}`);
  } finally {
    for (const pid of reap) if (alive(pid)) { try { process.kill(pid, 'SIGKILL'); } catch { /* gone */ } }
    if (opt.keep) reasons.keep = root;
    else fs.rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
  return { id, raw, reasons, root: opt.keep ? root : undefined };
}

// ---------------------------------------------------------------- main
const ids = fs.readdirSync(CASES).filter((d) => fs.existsSync(path.join(CASES, d, 'case.json'))).sort()
  .filter((d) => !opt.only || opt.only.some((o) => d.includes(o)));
if (opt.list) {
  for (const id of ids) { const c = JSON.parse(fs.readFileSync(path.join(CASES, id, 'case.json'), 'utf8')); console.log(`${id}: ${c.name}`); }
  process.exit(0);
}
const results = new Array(ids.length);
let next = 0;
async function worker() {
  while (next < ids.length) {
    const i = next++;
    results[i] = await runCase(ids[i]);
    if (opt.verbose) { const r = results[i]; console.log(`${r.skipped ? 'skip' : r.reasons.length ? 'FAIL' : 'ok  '} ${r.id}`); }
  }
}
await Promise.all(Array.from({ length: opt.jobs }, worker));

const plain = results.filter((r) => !r.skipped);
const skipped = results.filter((r) => r.skipped);
const failed = plain.filter((r) => r.reasons.length);
for (const r of failed) {
  console.log(`FAIL ${r.id}: ${r.raw.name}${r.root ? `  [kept in ${r.root}]` : ''}`);
  for (const m of r.reasons) console.log(`     - ${m}`);
}
for (const r of skipped) console.log(`skip ${r.id}: ${r.skipped}`);
if (skipped.length) console.log(`${skipped.length} skipped`);
console.log(`${plain.length - failed.length} passed, ${failed.length} failed`);
if (opt.json) fs.writeFileSync(opt.json, JSON.stringify(results.map((r) => ({ id: r.id, skipped: r.skipped, reasons: r.reasons ? [...r.reasons] : undefined })), null, 1));
process.exit(failed.length ? 1 : 0);
