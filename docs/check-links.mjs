// Follows every link of the built site, the reference included: each leads to a file of it, and
// each anchor to an element there. Prints how many there were.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const SITE = resolve(import.meta.dirname, '.vitepress/dist');
const { KEYSCOPE_DOCS_BASE: BASE = '/' } = process.env;
const pages = readdirSync(SITE, { recursive: true }).filter((path) => path.endsWith('.html'));
const texts = new Map();
const faults = [];
let links = 0;

for (const page of pages) {
  for (const link of linksIn(textOf(join(SITE, page)))) check(page, link);
}
console.log(`${pages.length} pages, ${links} links within the site, ${faults.length} lead nowhere`);
if (links === 0) throw new Error('no links: is the site built?');
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exitCode = 1;
}

function textOf(path) {
  if (!texts.has(path)) texts.set(path, readFileSync(path, 'utf8'));
  return texts.get(path);
}

function linksIn(html) {
  const found = html.matchAll(/<(?:a|img|link|script|source)\b[^>]*?\b(?:href|src)="([^"]*)"/g);
  return Array.from(found, ([, link]) => link.replaceAll('&amp;', '&'));
}

function check(page, link) {
  if (/^(?:[a-z]+:|\/\/)/.test(link)) return;
  links += 1;
  const [path, anchor] = decodeURI(link).split('#');
  const file = fileOf(path === '' ? join(SITE, page) : targetOf(page, path));
  if (file === undefined) faults.push(`${page}: ${link}`);
  else if (anchor && !textOf(file).includes(`id="${anchor}"`)) faults.push(`${page}: ${link}`);
}

function targetOf(page, path) {
  if (path.startsWith(BASE)) return join(SITE, path.slice(BASE.length));
  // Outside of the site, as seen from a page in it.
  return path.startsWith('/') ? join(SITE, '..', path) : join(SITE, dirname(page), path);
}

/** Addresses have no `.html`. */
function fileOf(path) {
  const candidates = [path, `${path}.html`, join(path, 'index.html')];
  return candidates.find((file) => existsSync(file) && statSync(file).isFile());
}
