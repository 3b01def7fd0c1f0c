// `npm run lab -- overflow` opens every page of the built site at 1,440 px and at 390 px. Code has to
// fit, and so do tables at 1,440 px; at 390 px a table may scroll. No page scrolls sideways, and
// nothing is cut off.
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { serve } from 'vitepress';
import { launch } from '../test/support/browser.ts';

const SITE = resolve(import.meta.dirname, '.vitepress/dist');
const PORT = 4174;

/** Runs in the page. */
const MEASURE = `(() => {
  // Tabs that are not open.
  for (const block of document.querySelectorAll('.vp-code-group .blocks > *')) {
    block.style.display = 'block';
  }
  const isWide = (element) => element.scrollWidth > element.clientWidth + 1;
  const describe = (element) => element.tagName + ' ' + element.textContent.trim().slice(0, 60);
  const root = document.querySelector('.vp-doc, .col-content') ?? document.body;
  const scrolling = [...root.querySelectorAll('table, pre')].filter(isWide);
  const isCut = (element) =>
    element.getBoundingClientRect().right > innerWidth + 1 &&
    !scrolling.some((box) => box.contains(element));
  return {
    blocks: root.querySelectorAll('pre').length,
    tables: root.querySelectorAll('table').length,
    code: scrolling.filter(({ tagName }) => tagName === 'PRE').map(describe),
    wide: scrolling.filter(({ tagName }) => tagName === 'TABLE').map(describe),
    cut: [...root.querySelectorAll('*')].filter(isCut).map(describe),
    page: isWide(document.documentElement) ? ['the page'] : [],
  };
})()`;

const pages = readdirSync(SITE, { recursive: true }).filter((path) => path.endsWith('.html'));
const site = await serve({ root: import.meta.dirname, port: PORT });
const browser = await launch();
try {
  for (const width of [1440, 390]) await measure(width);
} finally {
  await browser.close();
  site.server.close();
}

async function measure(width) {
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  const page = await context.newPage();
  const counts = { blocks: 0, tables: 0, scrolling: 0 };
  const faults = [];
  for (const path of pages) {
    await page.goto(`http://localhost:${PORT}/${path.replace(/(?:index)?\.html$/, '')}`);
    const { blocks, tables, code, wide, cut, page: whole } = await page.evaluate(MEASURE);
    counts.blocks += blocks;
    counts.tables += tables;
    counts.scrolling += wide.length;
    const found = [...code, ...cut, ...whole, ...(width < 960 ? [] : wide)];
    faults.push(...found.map((fault) => `${path}: ${fault}`));
  }
  await context.close();
  const { blocks, tables, scrolling } = counts;
  console.log(
    `${width} px: ${pages.length} pages, ${blocks} blocks of code, ${tables} tables, ` +
      `of which ${scrolling} scroll; ${faults.length} do not fit`,
  );
  if (faults.length === 0) return;
  console.error(faults.join('\n'));
  process.exitCode = 1;
}
