import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { indexOf, linksOf, pageOf, titleOf } from './page.js';

const list = '.pages.json';

function notesIn(source) {
  const paths = readdirSync(source, { recursive: true }).map((path) => path.split('\\').join('/'));
  return paths.filter((path) => path.endsWith('.md') && statSync(join(source, path)).isFile()).sort();
}

function write(out, path, text) {
  const file = join(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Removes what an earlier call wrote and this one did not. */
function removeOthers(out, pages) {
  const before = existsSync(join(out, list)) ? JSON.parse(readFileSync(join(out, list), 'utf8')) : [];
  for (const page of before) if (!pages.includes(page)) rmSync(join(out, page), { force: true });
  write(out, list, JSON.stringify(pages));
}

function missingLinks(notes, path, text) {
  const targets = linksOf(text);
  return targets.filter((target) => !notes.includes(posix.join(posix.dirname(path), target)));
}

export function main([source, out, ...rest]) {
  if (source === undefined || out === undefined || rest.length > 0) {
    console.error('usage: pages SOURCE OUT');
    return 2;
  }
  if (!existsSync(source) || !statSync(source).isDirectory()) {
    console.error(`pages: ${source}: no such folder`);
    return 2;
  }
  const notes = notesIn(source);
  let code = 0;
  const entries = notes.map((path) => {
    const text = readFileSync(join(source, path), 'utf8');
    const page = path.replace(/\.md$/, '.html');
    write(out, page, pageOf(path, text));
    for (const target of missingLinks(notes, path, text)) {
      console.error(`pages: ${path}: no such note: ${target}`);
      code = 1;
    }
    return { page, title: titleOf(path, text) };
  });
  write(out, 'index.html', indexOf(entries));
  removeOthers(
    out,
    entries.map((entry) => entry.page),
  );
  console.log(`${entries.length} ${entries.length === 1 ? 'page' : 'pages'}`);
  return code;
}
